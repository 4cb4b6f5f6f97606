import AccountLifecycle
import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Runs jobs again.
struct JobsRetryCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Run jobs again now, with all their attempts.",
        discussion: """
            A waiting or parked job runs at once. A discarded or cancelled one comes back under its id, with its
            progress; a completed one does not. A unique key alone names one job: the unfinished one that has it, or
            else the only one that was discarded or cancelled.

            EXIT CODES
              0 run again; 3 no such job; 6 refused for its state; for several jobs, the code of the first that was not
              done

            EXAMPLES
              accountctl jobs retry 42 43
              accountctl jobs retry --unique-key mail.schedule
              accountctl jobs retry --state discarded --kind mail.check --yes
            """
    )

    static let outputFields = JobResult.outputFields

    @OptionGroup
    var options: JobFilterOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @Argument(
        help: """
            The ids of the jobs; without any, the one job that --unique-key names, or the jobs that --state or --exhausted names, narrowed \
            by the other options.
            """
    )
    var ids: [Int64] = []

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard !ids.isEmpty || !options.state.isEmpty || options.exhausted || options.keyAlone != nil else {
            throw CommandError(.usage, "name ids, or --state, or --exhausted, or --unique-key alone")
        }
        guard ids.isEmpty || !options.areGiven else {
            throw CommandError(
                .usage,
                "name ids, or --state or --exhausted (narrowed by --queue, --kind, --unique-key and --limit), not both"
            )
        }
        if options.state.contains(.completed) {
            throw CommandError(.usage, "--state completed: a completed job does not run again")
        }
        if options.state.contains(.running) {
            throw CommandError(.usage, "--state running: a job that runs is not run again")
        }
        let filter = try options.filter()
        let queue = JobQueue()
        var (chosen, isCut) = (ids, false)
        if let key = options.keyAlone {
            chosen = [try await context.job(withKey: key, orEnded: [.discarded, .cancelled])]
        } else if ids.isEmpty {
            let found = try await context.withConnection { connection in try queue.retryable(filter, on: connection) }
            (chosen, isCut) = (found.ids, found.isCut)
        }
        if isCut { context.tellMore(than: filter.limit, of: JobFilter.limits, "such jobs") }
        let question = ids.isEmpty && options.keyAlone == nil ? "Run \(CommandContext.named(chosen)) again?" : nil
        let status = try await context.act(on: chosen, as: "jobs.retry", acting, write, asking: question) {
            id,
            connection in
            let name = try queue.retry(id, on: connection)
            try queue.wakeAtCommit([name], on: connection)
            let isPaused = try queue.pauses(of: [name], on: connection).first != nil
            let when = isPaused ? " once its queue is resumed" : ""
            return .done("runs again" + when, would: "would run again" + when)
        }
        try await warn(of: chosen, in: context)
        return status
    }

    /// Warns of what still holds the jobs: a pause of their queue or, for jobs of deletions, of all deletions.
    private func warn(of ids: [Int64], in context: CommandContext) async throws {
        let queue = JobQueue()
        let words = try await context.withConnection { connection in
            let kinds = try queue.kinds(of: ids, on: connection)
            let pauses = try queue.pauses(of: Set(kinds.map(\.queue)), on: connection)
            let brakes =
                try kinds.contains { $0.kind == StandingBrakes.kindName }
                ? StandingBrakes.read(on: connection).everything : nil
            return (brakes.map { [$0.words] } ?? [])
                + pauses.map { StandingBrakes.words(ofQueue: $0.name, $0.pauseReason) }
        }
        for word in words { context.messages.warning(word) }
    }
}
