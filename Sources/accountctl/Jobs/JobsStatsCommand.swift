import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Shows the queues in numbers.
struct JobsStatsCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show how many jobs wait, run and fail, and for how long.",
        discussion: """
            EXIT CODES
              0 fine; 7 something needs a look: jobs beyond their usual attempts, jobs that no worker could read, or
              history outside its partitions

            EXAMPLES
              accountctl jobs stats
              accountctl jobs stats --json
            """
    )

    static let isSequential = true

    static let outputFields = [
        "queues", "settings", "limits", "exhausted", "unreadable", "ended_last_minute", "oldest_snapshot_seconds",
        "oldest_xmin_age", "dead_rows", "history_default_rows",
    ]

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (figures, settings, limits, unreadable) = try await context.withConnection { connection in
            let queue = JobQueue()
            return (
                try queue.figures(on: connection), try queue.queueSettings(on: connection),
                try queue.kindLimits(on: connection),
                try queue.unreadable(on: connection).reduce(0) { $0 + $1.count }
            )
        }
        try context.output.show(
            Sheet([
                Self.depths(figures), Self.section(settings), Self.section(limits),
                Self.totals(figures, unreadable: unreadable),
            ])
        )
        return figures.exhausted > 0 || unreadable > 0 || figures.defaultRows > 0 ? .advice : .ok
    }

    /// The number of jobs that wait and run in each queue.
    private static func depths(_ figures: JobFigures) -> Sheet.Section {
        let queues = Set(figures.depths.map(\.queue)).sorted()
        let states: [JobState] = [.available, .running, .scheduled, .parked]
        let rows = queues.map { queue -> [OutputValue] in
            let counts = states.map { state in
                OutputValue.integer(figures.depths.first { $0.queue == queue && $0.state == state }?.count ?? 0)
            }
            let oldest = figures.oldestReady[queue].map { OutputValue.duration(.seconds($0)) } ?? .null
            return [.text(queue)] + counts + [oldest]
        }
        let columns =
            [TableColumn("Queue")]
            + ["Available", "Running", "Scheduled", "Parked"].map { TableColumn($0, alignment: .right) }
            + [TableColumn("Oldest")]
        let names = ["queue"] + states.map(\.rawValue) + ["oldest_ready_seconds"]
        return .init("queues", .table(columns, rows: rows, names: names, whenEmpty: "No unfinished jobs."))
    }

    /// The figures over all queues.
    private static func totals(_ figures: JobFigures, unreadable: Int) -> Sheet.Section {
        let ended = figures.lastMinute.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        return .init(
            .facts([
                .init(
                    "exhausted",
                    "Beyond usual attempts",
                    .integer(figures.exhausted),
                    figures.exhausted > 0 ? .bad : .none
                ),
                .init("unreadable", "Parked as unreadable", .integer(unreadable), unreadable > 0 ? .bad : .none),
                .init(
                    "ended_last_minute",
                    "Ended in the last minute",
                    .object(Dictionary(uniqueKeysWithValues: ended.map { ($0.0, .integer($0.1)) })),
                    shown: ended.isEmpty ? "none" : ended.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
                ),
                .init(
                    "oldest_snapshot_seconds",
                    "Oldest snapshot",
                    .duration(.seconds(figures.oldestSnapshot)),
                    figures.oldestSnapshot > JobFigures.Limits.oldestSnapshot ? .caution : .none
                ),
                .init(
                    "oldest_xmin_age",
                    "In transactions, with standbys",
                    .integer(figures.oldestXminAge),
                    figures.oldestXminAge > JobFigures.Limits.oldestXminAge ? .caution : .none
                ),
                .init("dead_rows", "Dead rows", .integer(figures.deadRows)),
                .init(
                    "history_default_rows",
                    "History outside partitions",
                    .integer(figures.defaultRows),
                    figures.defaultRows > 0 ? .bad : .none
                ),
            ])
        )
    }

    private static func section(_ settings: [QueueSetting]) -> Sheet.Section {
        let rows = settings.map { setting -> [OutputValue] in
            [
                .text(setting.name), .date(setting.pausedAt), .text(setting.pauseReason),
                setting.rate.map { .integer(Int64($0)) } ?? .null,
                setting.ratePeriod.map { .duration(.seconds($0)) } ?? .null,
            ]
        }
        let columns = ["Queue", "Paused since", "Reason", "Begin at most", "In"].map { TableColumn($0) }
        let names = ["queue", "paused_at", "pause_reason", "rate", "rate_period_seconds"]
        let table = Sheet.Content.table(columns, rows: rows, names: names)
        return .init("settings", table)
    }

    private static func section(_ limits: [KindLimitRecord]) -> Sheet.Section {
        let rows = limits.map { limit -> [OutputValue] in
            [
                .text(limit.kind), limit.running.map { .integer(Int64($0)) } ?? .null,
                limit.runningPerKey.map { .integer(Int64($0)) } ?? .null, .bool(limit.isSetByHand),
            ]
        }
        let columns = ["Kind", "Run at once", "Per key", "Set by hand"].map { TableColumn($0) }
        let names = ["kind", "running", "running_per_key", "is_set_by_hand"]
        let table = Sheet.Content.table(columns, rows: rows, names: names)
        return .init("limits", table)
    }
}
