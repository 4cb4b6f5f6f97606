import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Lets workers claim jobs of a paused queue again.
struct JobsResumeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let jobs of a paused queue begin again.",
        discussion: """
            EXAMPLES
              accountctl jobs resume apple
            """
    )

    static let otherWords = ["unpause", "continue"]

    static let outputFields = QueueSheet.fields

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(help: "The name of the queue.")
    var queue: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.act(
            onQueue: queue,
            as: "jobs.resume",
            facts: ["queue": queue],
            acting,
            write,
            words: ("\(queue) is resumed", "would resume \(queue)", "\(queue) was not paused")
        ) { _, connection in
            try JobQueue().resume(queue: queue, on: connection)
        }
    }
}
