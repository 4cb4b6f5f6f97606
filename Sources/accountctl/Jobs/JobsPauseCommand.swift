import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Stops claims of a queue.
struct JobsPauseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let no more jobs of a queue begin; what runs goes on.",
        discussion: """
            The reason is shown while it is paused; another one replaces it. jobs pause deletions stops every erasure. It asks first;
            --yes answers, as a script has to.

            EXAMPLES
              accountctl jobs pause apple --reason "incident 7" --yes
            """
    )

    static let outputFields = QueueSheet.fields

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(help: "The queue.")
    var queue: String

    func validate() throws {
        try OptionText.check("--reason", acting.reason, limit: OptionText.jobReason)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.act(
            onQueue: queue,
            as: "jobs.pause",
            facts: ["queue": queue],
            acting,
            write,
            asking: "Pause queue \(queue)?",
            words: ("\(queue) is paused", "would pause \(queue)", "\(queue) was paused already")
        ) { signature, connection in
            try JobQueue().pause(queue: queue, reason: signature.reason, on: connection)
        }
    }
}
