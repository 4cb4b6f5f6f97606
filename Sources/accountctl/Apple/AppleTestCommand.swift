import ArgumentParser
import SignInWithApple
import Terminal

/// Tests the configured client ids, team and key with Apple.
struct AppleTestCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Test client ids, team and key with Apple, without using anything up.",
        discussion: """
            Asks Apple to exchange a code that cannot exist. If the credentials are good, Apple says that the code is
            wrong; otherwise it says that the client is.

            EXIT CODES
              0 all are good; 4 Apple rejects one; 75 Apple cannot be reached now

            EXAMPLES
              accountctl apple test
              accountctl apple test --json client_id,result
            """
    )

    private struct Row {
        let clientID: String
        let teamID: String
        let keyID: String
        let result: String
        let detail: String?
        let emphasis: Emphasis
        let status: ExitStatus
    }

    private static let fields: [Field<Row>] = [
        Field("client_id", "Client id") { .text($0.clientID) },
        Field("team_id", "Team") { .text($0.teamID) },
        Field("key_id", "Key") { .text($0.keyID) },
        Field("result", "Result", emphasis: { $0.emphasis }) { .text($0.result) },
        Field("detail", "Detail") { .text($0.detail) },
    ]

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let rows = try await context.withApple(tellsAll: true) { clients in
            try await clients.selfTests().map { Self.row($0.identity, $0.outcome) }
        }
        try context.output.list(rows, Self.fields)
        return rows.map(\.status).max { $0.rawValue < $1.rawValue } ?? .ok
    }

    private static func row(_ identity: AppleClientIdentity, _ outcome: SelfTestOutcome) -> Row {
        let (result, detail, emphasis, status): (String, String?, Emphasis, ExitStatus) =
            switch outcome {
            case .good: ("good", nil, .good, .ok)
            case .misconfigured(let reason): ("rejected", "\(reason)", .bad, .notAuthorised)
            case .later(let delay): ("unknown", "\(delay)", .caution, .temporary)
            }
        return Row(
            clientID: identity.clientID,
            teamID: identity.teamID,
            keyID: identity.keyID,
            result: result,
            detail: detail,
            emphasis: emphasis,
            status: status
        )
    }
}
