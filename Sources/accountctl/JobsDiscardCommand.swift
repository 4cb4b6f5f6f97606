import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Gives jobs up.
struct JobsDiscardCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Give up jobs that wait, with a reason; retry brings them back.",
        discussion: """
            EXAMPLES
              accountctl jobs discard 42 --reason "the campaign is over"
            """
    )

    static let jsonFields = ["id", "result"]

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var write: WriteOptions

    @Option(name: .long, help: ArgumentHelp("Kept with the job.", valueName: "text"))
    var reason: String

    @Argument(help: "The ids.")
    var ids: [Int64]

    func validate() throws {
        try OptionText.check("--reason", reason, limit: OptionText.jobReason)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.act(on: ids, write, asking: "Give up \(CommandContext.named(ids))?") { id, connection in
            try JobQueue().discard(id, reason: reason, on: connection)
            return ("discarded", "would be discarded")
        }
    }
}
