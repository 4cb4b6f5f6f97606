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
        "queues", "settings", "limits", "failing", "workers_alive", "exhausted", "unreadable", "ended_last_minute",
        "oldest_snapshot_seconds", "oldest_xmin_age", "dead_rows", "history_default_rows",
    ]

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let found = try await context.withConnection { try Reading.read(on: $0) }
        let figures = found.figures
        try context.output.show(
            Sheet([
                Self.depths(figures), Self.section(found.settings, found.use), Self.section(found.limits, found.use),
                Self.section(found.failing),
                Self.totals(figures, unreadable: found.unreadable, alive: found.alive),
            ])
        )
        return figures.exhausted > 0 || found.unreadable > 0 || figures.defaultRows > 0 ? .advice : .ok
    }

    /// What is read before anything is shown.
    private struct Reading: Sendable {
        let figures: JobFigures
        let unreadable: Int
        let use: LimitUse
        let settings: [QueueSetting]
        let limits: [KindLimitRecord]
        let failing: [FailingKind]
        /// How many workers are alive.
        let alive: Int

        static func read(on connection: isolated Connection) throws -> Reading {
            let queue = JobQueue()
            return Reading(
                figures: try queue.figures(on: connection),
                unreadable: try queue.unreadable(on: connection).reduce(0) { $0 + $1.count },
                use: try queue.limitUse(on: connection),
                settings: try queue.queueSettings(on: connection),
                limits: try queue.kindLimits(on: connection),
                failing: try queue.failingKinds(on: connection),
                alive: try queue.presence(on: connection).alive
            )
        }
    }

    /// The figures over all queues.
    private static func totals(_ figures: JobFigures, unreadable: Int, alive: Int) -> Sheet.Section {
        let ended = figures.lastMinute.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 }
        return .init(
            .facts([
                .init("workers_alive", "Workers alive", .integer(alive), alive > 0 ? .none : .caution),
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
                    "Oldest snapshot, in transactions",
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
}
