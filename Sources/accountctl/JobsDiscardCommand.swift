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

    func run(in context: CommandContext) async throws -> ExitStatus {
        if write.dryRun {
            return try JobResult.write(ids.map { JobResult(id: $0, result: "would be discarded") }, context)
        }
        try context.confirm("Give up \(ids.count == 1 ? "job \(ids[0])" : "\(ids.count) jobs")?", write)
        let results = try await context.withConnection { connection in
            try ids.map { id in
                try JobQueue().discard(id, reason: reason, on: connection)
                    ? JobResult(id: id, result: "discarded")
                    : JobResult(
                        id: id,
                        result: "does not wait",
                        error: JobQueueError(.wrongState, "job \(id) does not wait")
                    )
            }
        }
        return try JobResult.write(results, context)
    }
}
