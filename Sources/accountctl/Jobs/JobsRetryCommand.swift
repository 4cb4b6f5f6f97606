import AccountLifecycle
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

    static let outputFields = ["id", "result"]

    @OptionGroup
    var global: GlobalOptions

    @OptionGroup
    var options: JobFilterOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(help: "The ids; without any, the jobs that --state or --exhausted names, narrowed by the other options.")
    var ids: [Int64] = []

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard !ids.isEmpty || options.state != nil || options.exhausted else {
            throw CommandError(.usage, "name ids, or --state, or --exhausted")
        }
        guard ids.isEmpty || !options.areGiven else {
            throw CommandError(
                .usage,
                "name ids, or --state or --exhausted (narrowed by --queue, --kind and --limit), not both"
            )
        }
        let filter = try options.filter()
        let queue = JobQueue()
        let chosen =
            ids.isEmpty
            ? try await context.withConnection { connection in try queue.retryable(filter, on: connection) } : ids
        let question = ids.isEmpty ? "Run \(CommandContext.named(chosen)) again?" : nil
        return try await context.act(on: chosen, as: "jobs.retry", acting, write, asking: question) { id, connection in
            try queue.wakeAtCommit([try queue.retry(id, on: connection)], on: connection)
            return ("runs again", "would run again")
        }
    }
}
