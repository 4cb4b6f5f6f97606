import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

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
    static let isSequential = true

    @Argument(help: "The credential's id, as list shows it.")
    var id: Int64

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.showOne("credential \(id)", AppleCredentialsCommand.fields) { [id] connection in
            try CredentialBooks.credential(id, on: connection)
        }
    }
}
