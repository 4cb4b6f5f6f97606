import ArgumentParser
import JobQueue
import Postgres
import Terminal

/// Shows the queues in numbers.
struct JobsStatsCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Show how much waits, runs and fails, and for how long.",
        discussion: """
            EXIT CODES
              0 fine; 5 something needs a look: jobs beyond their usual attempts, or history outside its partitions

            EXAMPLES
              accountctl jobs stats
              accountctl jobs stats --json
            """
    )

    static let jsonFields = [
        "queues", "exhausted", "ended_last_minute", "oldest_snapshot_seconds", "dead_rows", "history_default_rows",
    ]

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let figures = try await context.withConnection { connection in
            try JobQueue().figures(on: connection)
        }
        let names = Set(figures.depths.map(\.queue)).sorted()
        let rows = names.map { name -> [OutputValue] in
            func count(_ state: String) -> OutputValue {
                .integer(Int64(figures.depths.first { $0.queue == name && $0.state == state }?.count ?? 0))
            }
            let oldest = figures.oldestReady[name].map { OutputValue.duration(.seconds($0)) } ?? .null
            return [.text(name), count("available"), count("running"), count("scheduled"), count("parked"), oldest]
        }
        let ended = figures.lastMinute.sorted { $0.key < $1.key }
        let columns = ["Queue", "Available", "Running", "Scheduled", "Parked", "Oldest"].map { TableColumn($0) }
        try context.output.show(
            Sheet([
                .init(
                    "queues",
                    .table(
                        columns,
                        rows: rows,
                        names: ["queue", "available", "running", "scheduled", "parked", "oldest_ready_seconds"],
                        whenEmpty: "No unfinished jobs."
                    )
                ),
                .init(
                    .facts([
                        .init(
                            "exhausted",
                            "Beyond usual attempts",
                            .integer(figures.exhausted),
                            figures.exhausted > 0 ? .bad : .none
                        ),
                        .init(
                            "ended_last_minute",
                            "Ended in the last minute",
                            .object(Dictionary(uniqueKeysWithValues: ended.map { ($0.key, .integer($0.value)) })),
                            shown: ended.isEmpty
                                ? "none" : ended.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
                        ),
                        .init(
                            "oldest_snapshot_seconds",
                            "Oldest snapshot",
                            .duration(.seconds(figures.oldestSnapshot)),
                            figures.oldestSnapshot > 600 ? .caution : .none
                        ),
                        .init("dead_rows", "Dead rows", .integer(figures.deadRows)),
                        .init(
                            "history_default_rows",
                            "History outside partitions",
                            .integer(figures.defaultRows),
                            figures.defaultRows > 0 ? .bad : .none
                        ),
                    ])
                ),
            ])
        )
        return figures.exhausted > 0 || figures.defaultRows > 0 ? .residue : .ok
    }
}
