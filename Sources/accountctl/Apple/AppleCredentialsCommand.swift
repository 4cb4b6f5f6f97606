import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What we hold of Apple.
struct AppleCredentialsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials",
        abstract: "List and show held credentials, never the tokens.",
        subcommands: [AppleCredentialsListCommand.self, AppleCredentialsShowCommand.self],
        aliases: ["credential"]
    )

    static let fields: [Field<CredentialBooks.CredentialRecord>] = [
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("user_id", "User") { .uuid($0.user) },
        Field("client_id", "Client id") { .text($0.clientID) },
        Field("obtained_at", "Obtained") { .date($0.obtainedAt) },
        Field("last_live_at", "Seen alive") { .date($0.lastLiveAt) },
        Field("checked_at", "Checked") { .date($0.checkedAt) },
        Field("doubts", "Doubts", alignment: .right, emphasis: { $0.doubts > 0 ? .caution : .none }) {
            .integer($0.doubts)
        },
        Field("check_after", nil, detail: "Next check") { .date($0.checkAfter) },
        Field("sealing_key", "Key") { .text($0.sealingKey) },
    ]
}

/// Lists held credentials.
struct AppleCredentialsListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List held credentials, the newest first.",
        discussion: """
            EXAMPLES
              accountctl apple credentials list
              accountctl apple credentials list --user 8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f
            """
    )

    private static let limits = 1...10_000

    static let outputFields = AppleCredentialsCommand.fields.map(\.name)

    @Option(name: .long, help: ArgumentHelp("Of this account only.", valueName: "user id"))
    var user: String?

    @Option(name: .long, help: ArgumentHelp("Of this client id only.", valueName: "client id"))
    var client: String?

    @Option(name: .long, help: "The most credentials shown.")
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        try Self.limits.check(limit)
        if let user, UUID(uuidString: user) == nil { throw ValidationError("--user must be a user id") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let user = user.flatMap { UUID(uuidString: $0) }
        let rows = try await context.withConnection { [client, limit] connection in
            try CredentialBooks.credentials(of: user, clientID: client, limit: limit + 1, on: connection)
        }
        try context.list(
            rows,
            AppleCredentialsCommand.fields,
            limit: limit,
            of: Self.limits,
            whenEmpty: "No credential is held."
        )
        return .ok
    }
}

/// Shows one held credential.
struct AppleCredentialsShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one held credential.",
        discussion: """
            EXIT CODES
              0 shown; 3 there is no such credential

            EXAMPLES
              accountctl apple credentials show 42
            """
    )

    static let outputFields = AppleCredentialsCommand.fields.map(\.name)

    @Argument(help: "The id that list shows.")
    var id: Int64

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let found = try await context.withConnection { [id] connection in
            try CredentialBooks.credential(id, on: connection)
        }
        guard let found else { throw CommandError(.notFound, "there is no credential \(id)") }
        try context.output.show(Sheet([.init(.facts(Sheet.facts(of: AppleCredentialsCommand.fields, row: found)))]))
        return .ok
    }
}
