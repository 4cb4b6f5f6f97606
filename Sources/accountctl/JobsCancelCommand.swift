import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Cancels jobs.
struct JobsCancelCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel jobs: those that wait at once, those that run by telling their handlers to stop.",
        discussion: """
            Cancelling the job of a deletion does not cancel the deletion: accountctl deletion cancel does.

            EXAMPLES
              accountctl jobs cancel 42 --reason "asked for twice"
            """
    )

    static let jsonFields = ["id", "result"]

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var write: WriteOptions

    @Option(name: .long, help: ArgumentHelp("Kept with the job.", valueName: "text"))
    var reason = "cancelled by an operator"

    @Argument(help: "The ids.")
    var ids: [Int64]

    func run(in context: CommandContext) async throws -> ExitStatus {
        if write.dryRun {
            return try JobResult.write(ids.map { JobResult(id: $0, result: "would be cancelled") }, context)
        }
        try context.confirm("Cancel \(ids.count == 1 ? "job \(ids[0])" : "\(ids.count) jobs")?", write)
        let results = try await context.withConnection { connection in
            var results: [JobResult] = []
            for id in ids {
                let result = try await connection.transaction { connection in
                    try JobQueue().cancel(id, reason: reason, on: connection)
                }
                results.append(Self.told(id, result))
            }
            return results
        }
        return try JobResult.write(results, context)
    }

    private static func told(_ id: Int64, _ result: JobQueue.CancelResult) -> JobResult {
        switch result {
        case .cancelled: JobResult(id: id, result: "cancelled")
        case .requested: JobResult(id: id, result: "told to stop")
        case .finished:
            JobResult(
                id: id,
                result: "had ended already",
                error: JobQueueError(.wrongState, "job \(id) had ended already")
            )
        case .unknown:
            JobResult(id: id, result: "does not exist", error: JobQueueError(.notFound, "there is no job \(id)"))
        }
    }
}
