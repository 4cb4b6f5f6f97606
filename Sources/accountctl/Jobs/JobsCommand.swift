import ArgumentParser
import JobQueue

/// Groups the commands about jobs: what waits, runs and has ended, and what operators can do about it.
struct JobsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs",
        abstract: "Show the jobs behind everything, and act on them.",
        discussion: """
            EXAMPLES
              accountctl jobs stats                       how much waits, and for how long
              accountctl jobs list --state parked         what does not continue by itself
              accountctl jobs show 42                     everything about one job
              accountctl jobs watch                       follow along
              accountctl jobs retry 42                    run a discarded job again
              accountctl jobs pause apple --reason "incident 7" --yes
              accountctl jobs limit --kind mail.check --running 2
            """,
        subcommands: [
            JobsStatsCommand.self, JobsListCommand.self, JobsShowCommand.self, JobsWatchCommand.self,
            JobsEnqueueCommand.self, JobsRetryCommand.self, JobsSnoozeCommand.self, JobsCancelCommand.self,
            JobsDiscardCommand.self, JobsPauseCommand.self, JobsResumeCommand.self, JobsLimitCommand.self,
            JobsPruneCommand.self, JobsSchedulesCommand.self, JobsWorkersCommand.self,
        ]
    )
}

/// The options that select jobs.
struct JobFilterOptions: ParsableArguments {
    @Option(name: .long, help: "Only jobs in this state; may be repeated. Default: all unfinished jobs.")
    var state: [JobState] = []

    @Option(name: .long, help: ArgumentHelp("Only jobs of this queue; may be repeated.", valueName: "name"))
    var queue: [String] = []

    @Option(name: .long, help: ArgumentHelp("Only jobs of this kind; may be repeated.", valueName: "name"))
    var kind: [String] = []

    @Option(name: .long, help: ArgumentHelp("Only jobs with this unique key.", valueName: "key"))
    var uniqueKey: String?

    @Flag(name: .long, help: "Only jobs that are never given up and have used up their usual attempts.")
    var exhausted = false

    @Option(
        name: .long,
        help: ArgumentHelp("How many jobs at most. Default: \(JobFilter().limit).", valueName: "count")
    )
    var limit: Int?

    /// Whether any of these was given.
    var areGiven: Bool {
        uniqueKey != nil || areGivenBesideKey
    }

    /// The unique key if no other option was given; it names one job.
    var keyAlone: String? { areGivenBesideKey ? nil : uniqueKey }

    private var areGivenBesideKey: Bool {
        !state.isEmpty || !queue.isEmpty || !kind.isEmpty || exhausted || limit != nil
    }

    /// The filter, checked.
    func filter() throws -> JobFilter {
        var filter = JobFilter()
        filter.states = state
        filter.queues = queue
        filter.kinds = kind
        filter.uniqueKey = uniqueKey
        filter.isExhausted = exhausted
        if let limit { filter.limit = limit }
        try filter.check()
        return filter
    }
}

extension JobState: ExpressibleByArgument {}

extension JobQueueError: ReportableError {
    var report: CommandError {
        switch code {
        case .invalidField: CommandError(.usage, message(typed: CommandLine.arguments))
        case .duplicateKind: CommandError(.usage, message)
        case .notFound: CommandError(.notFound, message)
        case .wrongState, .liveDuplicate, .cancelled: CommandError(.blocked, message)
        case .outcomesLost: CommandError(.temporary, message)
        default: CommandError(.failure, message)
        }
    }

    /// The message with its leading field name replaced by the option that was typed for it; an operand is named like
    /// the field.
    private func message(typed words: [String]) -> String {
        guard let field, message.hasPrefix(field) else { return message }
        // After `--` there are only operands.
        let typed = Set(words.prefix { $0 != "--" }.map { $0.prefix { $0 != "=" } })
        guard let option = Self.options(for: field).first(where: { typed.contains($0[...]) }) else { return message }
        return option + message.dropFirst(field.count)
    }

    /// The options that may set a field: the one that the parser derives from the field's name, and one with another
    /// name.
    private static func options(for field: String) -> [String] {
        let words = field.map { $0.isUppercase ? "-" + $0.lowercased() : String($0) }
        return ["--" + words.joined()] + [otherOptions[field]].compactMap(\.self)
    }

    private static let otherOptions = ["for": "--in", "rate": "--count", "runningPerKey": "--per-key", "runAt": "--at"]
}
