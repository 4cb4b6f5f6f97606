import AccountLifecycle
import ArgumentParser
import MailRelay
import Terminal

/// Lists the streams.
struct RelayStreamListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the mail streams with their verdicts.",
        discussion: """
            EXAMPLES
              accountctl relay stream list
              accountctl relay stream list --json name,reachable
            """
    )

    private static let fields: [Field<MailStreamRecord>] = [
        Field("name", "Stream") { .text($0.stream.name) },
        Field("from_domain", "From") { .text($0.stream.fromDomain.description) },
        Field("envelope_domain", "Envelope") { .text($0.stream.envelopeDomain.description) },
        Field("provider", "Provider") { .text($0.stream.provider.name) },
        Field("spf", "SPF", emphasis: { $0.standing.known?.spf.emphasis ?? .faint }) {
            .text($0.standing.known?.spf.rawValue)
        },
        Field("dkim", "DKIM", emphasis: { $0.standing.known?.dkim.emphasis ?? .faint }) {
            .text($0.standing.known?.dkim.rawValue)
        },
        Field("reachable", "Reachable", emphasis: { $0.standing.known?.reachable.emphasis ?? .faint }) {
            .text($0.standing.known?.reachable.rawValue)
        },
        Field("confirmed_at", "Confirmed") { .date($0.standing.confirmedAt) },
        Field("next_check_at", "Next check") { .date($0.nextCheckAt) },
        Field("id", nil) { .integer($0.id) },
        Field("checked_at", nil) { .date($0.checkedAt) },
        Field("unknown_since", nil) { .date($0.standing.unknownSince) },
    ]

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let streams = try await context.withConnection { connection in
            try MailStreamStore.all(on: connection)
        }
        try context.output.list(
            streams,
            Self.fields,
            whenEmpty: "No mail stream is declared: accountctl relay stream add --help"
        )
        return .ok
    }
}
