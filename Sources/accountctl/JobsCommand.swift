import ArgumentParser
import JobQueue

/// The job table: what waits, runs and ended, and what operators do about it.
struct JobsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "Look at the jobs behind everything, and act on them.",
        discussion: """
            EXAMPLES
              accountctl jobs stats                       how much waits, and for how long
              accountctl jobs list --state parked         what does not go on by itself
              accountctl jobs show 42                     everything about one job
              accountctl jobs watch                       follow along
              accountctl jobs retry 42                    run a discarded job again
              accountctl jobs pause apple --reason "incident 7"
              accountctl jobs limit --kind mail.check --running 2
            """,
        subcommands: [
            JobsStatsCommand.self, JobsListCommand.self, JobsShowCommand.self, JobsWatchCommand.self,
            JobsEnqueueCommand.self, JobsRetryCommand.self, JobsSnoozeCommand.self, JobsCancelCommand.self,
            JobsDiscardCommand.self, JobsPauseCommand.self, JobsResumeCommand.self, JobsLimitCommand.self,
            JobsPruneCommand.self, JobsWorkersCommand.self,
        ]
    )
}

/// Which jobs a command means.
struct JobFilterOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "scheduled, available, running, parked, completed, cancelled or discarded; default: all unfinished.",
            valueName: "state"
        )
    )
    var state: String?

    @Option(name: .long, help: ArgumentHelp("Only jobs of this queue.", valueName: "name"))
    var queue: String?

    @Option(name: .long, help: ArgumentHelp("Only jobs of this kind.", valueName: "name"))
    var kind: String?

    @Flag(name: .long, help: "Only jobs that must not be given up and used up their usual attempts.")
    var exhausted = false

    @Option(name: .long, help: ArgumentHelp("How many at most.", valueName: "count"))
    var limit = 100

    /// Whether any jobs are named by these.
    var nameJobs: Bool { state != nil || queue != nil || kind != nil || exhausted }

    /// The filter, checked.
    func filter() throws -> JobFilter {
        var filter = JobFilter()
        filter.state = state
        filter.queue = queue
        filter.kind = kind
        filter.isExhausted = exhausted
        filter.limit = limit
        try filter.check()
        return filter
    }
}

extension JobQueueError: ReportableError {
    var report: ErrorReport {
        switch code {
        case .invalidField: ErrorReport(.usage, optionMessage)
        case .duplicateKind: ErrorReport(.usage, message)
        case .notFound: ErrorReport(.notFound, message)
        case .wrongState, .liveDuplicate: ErrorReport(.blocked, message)
        case .outcomesLost: ErrorReport(.temporary, message)
        default: ErrorReport(.failure, message)
        }
    }

    /// The message, which begins with the field, by the name of the option that the field came from.
    private var optionMessage: String {
        guard let field, let option = Self.options[field], message.hasPrefix(field) else { return message }
        return option + message.dropFirst(field.count)
    }

    /// Options whose fields have other names.
    private static let options = [
        "rate": "--count", "period": "--seconds", "running": "--running", "runningPerKey": "--per-key",
        "maxAttempts": "--max-attempts", "uniqueKey": "--unique-key", "limitKey": "--limit-key",
        "argumentsVersion": "--arguments-version",
    ]
}
