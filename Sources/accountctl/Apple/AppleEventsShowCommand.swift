import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Shows one event.
struct AppleEventsShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event.",
        discussion: """
            EXIT CODES
              0 shown; 3 there is no such event

            EXAMPLES
              accountctl apple events show 42
            """
    )

    static let outputFields = AppleEventsCommand.fields.map(\.name)
    static let isSequential = true

    @Argument(help: "The event's id, as list shows it.")
    var id: Int64

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.showOne("event \(id)", AppleEventsCommand.fields) { [id] connection in
            try CredentialBooks.event(id, on: connection)
        }
    }
}
