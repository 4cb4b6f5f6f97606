import JobQueue
import Terminal

/// The tables of `jobs stats`.
extension JobsStatsCommand {
    /// The number of jobs that wait and run in each queue.
    static func depths(_ figures: JobFigures) -> Sheet.Section {
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

    /// The queues that are paused or have a rate.
    static func section(_ settings: [QueueSetting], _ use: LimitUse) -> Sheet.Section {
        let rows = settings.map { setting -> [OutputValue] in
            [
                .text(setting.name), .date(setting.pausedAt), .text(setting.pauseReason),
                setting.rate.map { .integer(Int64($0)) } ?? .null,
                setting.ratePeriod.map { .duration(.seconds($0)) } ?? .null,
                .integer(use.left[setting.name]),
            ]
        }
        let columns = ["Queue", "Paused since", "Reason", "Begin at most", "In", "Left now"].map { TableColumn($0) }
        let names = ["queue", "paused_at", "pause_reason", "rate", "rate_period_seconds", "left"]
        let table = Sheet.Content.table(columns, rows: rows, names: names)
        return .init("settings", table)
    }

    /// The kinds with a limit.
    static func section(_ limits: [KindLimitRecord], _ use: LimitUse) -> Sheet.Section {
        let rows = limits.map { limit -> [OutputValue] in
            [
                .text(limit.kind), limit.running.map { .integer(Int64($0)) } ?? .null,
                .integer(use.running[limit.kind] ?? 0),
                limit.runningPerKey.map { .integer(Int64($0)) } ?? .null,
                .integer(limit.runningPerKey.map { _ in use.ofOneKey[limit.kind] ?? 0 }),
                .bool(limit.isSetByHand),
            ]
        }
        let columns = ["Kind", "Run at once", "Run now", "Per key", "Busiest key now", "Set by hand"]
        let names = ["kind", "running", "running_now", "running_per_key", "running_of_one_key", "is_set_by_hand"]
        let table = Sheet.Content.table(columns.map { TableColumn($0) }, rows: rows, names: names)
        return .init("limits", table)
    }

    /// The kinds whose jobs wait after a failure.
    static func section(_ failing: [FailingKind]) -> Sheet.Section {
        let rows = failing.map { kind -> [OutputValue] in
            [.text(kind.kind), .integer(kind.count), .text(kind.lastError)]
        }
        let columns = ["Failing kind", "Jobs", "Last error"].map { TableColumn($0) }
        return .init("failing", .table(columns, rows: rows, names: ["kind", "jobs", "last_error"]))
    }
}
