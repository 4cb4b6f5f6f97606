import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Lists held credentials.
struct AppleCredentialsListCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List held credentials, the newest first.",
        discussion: """
            EXAMPLES
              accountctl apple credentials list
              accountctl apple credentials list --user anna@example.com
            """
    )

    private static let limits = 1...10_000

    static let outputFields = AppleCredentialsCommand.fields.map(\.name)
    static let isSequential = true

    @Option(
        name: .long,
        help: ArgumentHelp("Only credentials of this account: any term that user find accepts.", valueName: "term")
    )
    var user: String?

    @Option(name: .long, help: ArgumentHelp("Only credentials of this client id.", valueName: "client id"))
    var client: String?

    @Option(name: .long, help: ArgumentHelp("How many credentials to show at most.", valueName: "count"))
    var limit = 100

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        try Self.limits.check(limit)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let account = try user.map { try context.subject(typed: $0) }
        let rows = try await context.withConnection { [client, limit] connection in
            let user = try account?(connection)
            return try CredentialBooks.credentials(of: user, clientID: client, limit: limit + 1, on: connection)
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
