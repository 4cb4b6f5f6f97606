import ArgumentParser
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Follows jobs as they come, run and end.
struct JobsWatchCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow jobs as they come, run and end, until interrupted.",
        discussion: """
            Hears notifications and looks besides once a second; a lost connection is made again.

            EXAMPLES
              accountctl jobs watch
              accountctl jobs watch --queue apple --format ndjson
            """
    )

    private static let fields: [Field<JobRecord>] = [
        Field("at", "At") { .date(Self.moment($0)) },
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("state", "State", emphasis: JobFields.emphasis) { .text($0.state) },
        Field("queue", "Queue") { .text($0.queue) },
        Field("kind", "Kind") { .text($0.kind) },
        Field("attempt", "Att", alignment: .right) { .integer(Int64($0.attempt)) },
        Field("reason", "Reason") { .text($0.reason) },
        Field("last_error", "Last error") { .text($0.lastError) },
    ]

    static let jsonFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    @Option(name: .long, help: ArgumentHelp("Only jobs of this queue.", valueName: "name"))
    var queue: String?

    @Option(name: .long, help: ArgumentHelp("Only jobs of this kind.", valueName: "name"))
    var kind: String?

    func run(in context: CommandContext) async throws -> ExitStatus {
        var filter = JobFilter()
        filter.queue = queue
        filter.kind = kind
        try filter.check()
        let settings = try context.settingsForDatabase()
        let listener = JobListener(context.connectionConfiguration(settings), logger: context.logger(settings))
        try await context.withDatabase { pool in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (looks, look) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                group.addTask { await listener.run(for: JobQueue()) { _ in look.yield() } }
                group.addTask {
                    while (try? await Task.sleep(for: .seconds(1))) != nil { look.yield() }
                    look.finish()
                }
                try await follow(looks, pool, context)
                group.cancelAll()
            }
        }
        return .ok
    }

    private func follow(_ looks: AsyncStream<Void>, _ pool: Pool, _ context: CommandContext) async throws {
        var list = try context.output.startList(Self.fields)
        var since = try await pool.withConnection { connection in
            try connection.one("select clock_timestamp()", as: Date.self)
        }
        var seen: [String: Date] = [:]
        var isAway = false
        for await _ in looks {
            let from = since
            let changes: [JobRecord]
            do {
                changes = try await pool.withConnection { connection in
                    try JobQueue().changes(since: from, on: connection)
                }
                if isAway { context.messages.note("the database is back") }
                isAway = false
            } catch let error as PostgresError where error.isTransient || !error.connectionUsable {
                if !isAway { context.messages.warning("the database is away: \(error)") }
                isAway = true
                continue
            }
            for job in changes where (queue ?? job.queue) == job.queue && (kind ?? job.kind) == job.kind {
                let mark = "\(job.id) \(job.state) \(job.attempt)"
                guard seen[mark] == nil else { continue }
                seen[mark] = Self.moment(job)
                try list.append(job)
            }
            try list.flush()
            // What commits late carries an earlier time: look back a little, and remember what was shown.
            let newest = changes.map(Self.moment).max() ?? since
            since = max(since, newest.addingTimeInterval(-10))
            seen = seen.filter { $0.value > since.addingTimeInterval(-1) }
        }
    }

    private static func moment(_ job: JobRecord) -> Date {
        job.finishedAt ?? max(job.claimedAt ?? .distantPast, job.createdAt)
    }
}
