import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Runs jobs again.
struct JobsRetryCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Run jobs again now, with their attempts anew.",
        discussion: """
            A waiting or parked job runs at once; a discarded or cancelled one comes back under its id. A completed one does not.

            EXAMPLES
              accountctl jobs retry 42 43
              accountctl jobs retry --state discarded --kind mail.check --yes
            """
    )

    static let jsonFields = ["id", "result"]

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var options: JobFilterOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(help: "The ids; without any, the jobs that --state, --queue and --kind name.")
    var ids: [Int64] = []

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard !ids.isEmpty || options.state != nil || options.exhausted else {
            throw CommandError(.usage, "name ids, or --state, or --exhausted")
        }
        let filter = try options.filter()
        let queue = JobQueue()
        let results = try await context.withDatabase { pool in
            let chosen =
                ids.isEmpty
                ? try await pool.withConnection { connection in try queue.retryable(filter, on: connection) } : ids
            if write.dryRun { return chosen.map { JobResult(id: $0, result: "would run again") } }
            if ids.isEmpty { try context.confirm("Run \(chosen.count) jobs again?", write) }
            var results: [JobResult] = []
            var queues: Set<String> = []
            for id in chosen {
                do {
                    queues.insert(
                        try await pool.withTransaction { connection in try queue.retry(id, on: connection) }
                    )
                    results.append(JobResult(id: id, result: "runs again"))
                } catch let error as JobQueueError {
                    results.append(JobResult(id: id, result: error.message, error: error))
                }
            }
            try await queue.wake(queues, in: pool)
            return results
        }
        return try JobResult.write(results, context)
    }
}
