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
            The reason is shown while it is paused; another one replaces it. jobs pause deletions stops every erasure.

            EXAMPLES
              accountctl jobs pause apple --reason "incident 7"
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
        let signature = try context.signature(acting)
        if !write.dryRun { try context.confirm("Pause queue \(queue)?", write) }
        let isChanged = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: write.dryRun) { connection in
                try context.warnOfUnknown(queues: [queue], on: connection)
                let isChanged = try JobQueue().pause(queue: queue, reason: signature.reason, on: connection)
                if isChanged { try signature.log("jobs.pause", facts: ["queue": queue], on: connection) }
                return isChanged
            }
        }
        let paused = write.dryRun ? "would pause \(queue)" : "\(queue) is paused"
        context.messages.note(isChanged ? paused : "\(queue) was paused already")
        let outcome: ActOutcome = isChanged ? write.dryRun ? .wouldBeDone : .done : .unchanged
        try context.output.show(QueueSheet.of(queue: queue, outcome))
        return .ok
    }
}
