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
        abstract: "Follow jobs as they arrive, run, fail, wait and end, until interrupted.",
        discussion: """
            Listens for notifications and also looks once a second, less often if a look takes long; a lost connection
            is opened again. JSON is one object a line. A state that is over before the next look is not shown. A job
            that was snoozed, by its handler or an operator, is scheduled, like one that is to be tried again; run_at
            says until when.

            EXAMPLES
              accountctl jobs watch
              accountctl jobs watch --queue apple --format ndjson
            """
    )

    static let outputFields = JobsWatch.fields.map(\.name)

    @Option(name: .long, help: ArgumentHelp("Only jobs of this queue; may be repeated.", valueName: "name"))
    var queue: [String] = []

    @Option(name: .long, help: ArgumentHelp("Only jobs of this kind; may be repeated.", valueName: "name"))
    var kind: [String] = []

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        var filter = JobFilter()
        filter.queues = queue
        filter.kinds = kind
        try filter.check()
        let now = try await context.withConnection { try $0.one("select clock_timestamp()", as: Date.self) }
        return try await context.follow { [filter] in
            JobsWatch(filter, since: now, context.output.startGrowingList(JobsWatch.fields))
        }
    }
}

/// Shows the changes of jobs since the last look.
struct JobsWatch: Watch, Sendable {
    static let fields: [Field<JobRecord>] = [
        Field("at", "At") { .date($0.changedAt) },
        Field("id", "Id", alignment: .right) { .integer($0.id) },
        Field("state", "State", emphasis: JobFields.emphasis) { .text($0.state.rawValue) },
        Field("queue", "Queue") { .text($0.queue) },
        Field("kind", "Kind") { .text($0.kind) },
        Field("attempt", "Att", alignment: .right) { .integer(Int64($0.attempt)) },
        Field("run_at", nil, detail: "Run at") { .date($0.runAt) },
        Field("reason", "Reason") { .text($0.reason) },
        Field("last_error", "Last error") { .text($0.lastError) },
    ]

    /// How many changes are read at a time.
    private static let page = 1000

    private let filter: JobFilter
    private var lookBack: LookBack
    private var lines: ListWriter<JobRecord>
    /// The changes shown recently, each with its time.
    private var seen: [String: Date] = [:]

    init(_ filter: JobFilter, since: Date, _ lines: ListWriter<JobRecord>) {
        self.filter = filter
        lookBack = LookBack(from: since)
        self.lines = lines
    }

    mutating func look(on connection: isolated Connection) throws -> ExitStatus? {
        let now = try connection.one("select clock_timestamp()", as: Date.self)
        lookBack.begin(now: now)
        let since = lookBack.since
        var last: JobRecord?
        while true {
            let page = try JobQueue().changes(filter, since: since, after: last, limit: Self.page, on: connection)
            for job in page {
                let mark = "\(job.id) \(job.state.rawValue) \(job.attempt)"
                // After an operator resets the attempts, a new attempt has the number of an old one: its time tells
                // them apart.
                guard seen.updateValue(job.changedAt, forKey: mark) != job.changedAt else { continue }
                try lines.append(job)
            }
            last = page.last ?? last
            if page.count < Self.page { break }
        }
        lookBack.end(began: now, last: last?.changedAt)
        // Only changes that the next look reads again are remembered.
        let next = lookBack.since.addingTimeInterval(-1)
        seen = seen.filter { $0.value > next }
        return nil
    }

    mutating func flush() throws {
        try lines.flush()
    }
}
