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
              accountctl apple credentials list --user 8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f
            """
    )

    private static let limits = 1...10_000

    static let outputFields = AppleCredentialsCommand.fields.map(\.name)
    static let isSequential = true

    @Option(name: .long, help: ArgumentHelp("Only credentials of this account.", valueName: "user id"))
    var user: UserIDArgument?

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
        let rows = try await context.withConnection { [user, client, limit] connection in
            try CredentialBooks.credentials(of: user?.id, clientID: client, limit: limit + 1, on: connection)
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
