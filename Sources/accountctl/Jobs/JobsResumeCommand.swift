import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Lets claims of a queue go on.
struct JobsResumeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let jobs of a paused queue begin again.",
        discussion: """
            EXAMPLES
              accountctl jobs resume apple
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

    func run(in context: CommandContext) async throws -> ExitStatus {
        let signature = try context.signature(acting)
        let wasPaused = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                try context.warnOfUnknown(queues: [queue], on: connection)
                let wasPaused = try JobQueue().resume(queue: queue, on: connection)
                if wasPaused { try signature.log("jobs.resume", facts: ["queue": queue], on: connection) }
                return wasPaused
            }
        }
        let resumed = write.dryRun ? "would resume \(queue)" : "\(queue) goes on"
        context.messages.note(wasPaused ? resumed : "\(queue) was not paused")
        let outcome: ActOutcome = wasPaused ? write.dryRun ? .wouldBeDone : .done : .unchanged
        try context.output.show(QueueSheet.of(queue: queue, outcome))
        return .ok
    }
}
