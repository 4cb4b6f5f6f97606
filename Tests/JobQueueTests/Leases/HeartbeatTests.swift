import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Heartbeats that come late, or not at all.
@Suite(.timeLimit(.minutes(5))) struct HeartbeatTests {
    private static let kind = JobKind<Note>("test.plain")

    private func run(
        _ worker: Worker,
        _ harness: JobHarness,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await harness.withWorker(worker) {
            try await harness.untilBeaten()
            try await body()
        }
    }

    private func registry() throws -> JobRegistry {
        try JobRegistry(Self.kind) { _, _ in .completed() }
    }

    /// A failed heartbeat is repeated soon, since nothing else makes the worker retry: the next one is due in minutes,
    /// and the leases may have ended by then.
    ///
    /// Both the failure and its end are logged.
    @Test func aHeartbeatThatFailedIsRepeatedSoon() async throws {
        try await JobHarness.with { harness in
            let lines = LogLines()
            let configuration = harness.configuration { $0.leaseLifetime = .seconds(600) }
            let worker = try Worker(
                queue: harness.queue,
                pool: harness.pool,
                listener: nil,
                registry: try registry(),
                configuration: configuration,
                logger: lines.logger
            )
            let over = "info heartbeats succeed again failed="
            try await run(worker, harness) {
                let since = try await harness.pool.withTransaction { other in
                    _ = try other.one("select id from accountctl.workers for update", as: Int64.self)
                    worker.beatSignal.set()
                    try await other.waitUntilSomebodyIsBlocked()
                    // The heartbeat gives up.
                    let waiting: Statement = """
                        select count(*)
                        from pg_stat_activity
                        where datname = current_database()
                        and wait_event_type = 'Lock'
                        """
                    try await harness.until { try await harness.count(waiting) == 0 }
                    return try other.one("select clock_timestamp()::text", as: String.self)
                }
                let again: Statement =
                    "select count(*) from accountctl.workers where beat_at > \(since)::text::timestamptz"
                try await harness.until { try await harness.count(again) == 1 }
                try await harness.until { lines.all.contains { $0.hasPrefix(over) } }
            }
        }
    }

    /// In an outage of hours, a heartbeat fails every second, or the registration of a worker that was considered lost:
    /// the log must not fill up with them.
    @Test(arguments: [("a heartbeat failed", false), ("could not register again", true)])
    func heartbeatsThatGoOnFailingAreAWarningOnceInAHundred(_ message: String, _ isLost: Bool) async throws {
        try await JobHarness.with { harness in
            let lines = LogLines()
            let worker = try harness.worker(try registry(), logger: lines.logger) {
                $0.leaseLifetime = .seconds(600)
            }
            try await worker.begin()
            if isLost { worker.core.withLock { ($0.worker, $0.formerWorker) = (nil, $0.worker) } }
            try await harness.execute("alter table accountctl.workers rename to absent")
            for _ in 0..<101 { #expect(await !worker.beat()) }
            try await harness.execute("alter table accountctl.absent rename to workers")
            // The first may only register the worker again.
            for _ in 0..<2 { #expect(await worker.beat()) }
            let told = lines.all.filter { $0.contains(message) }
            let warnings = told.indices.filter { told[$0].hasPrefix("warning ") }
            #expect(told.count == 101 && warnings == [0, 100], "\(told)")
            #expect(lines.all.contains { $0.hasPrefix("info heartbeats succeed again failed=101") }, "\(lines.all)")
        }
    }

    /// A worker that has only registered has not sent a heartbeat.
    ///
    /// The two times were those of two calls, and differed by a microsecond now and then.
    @Test func aRegistrationIsNoHeartbeat() async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                for _ in 0..<200 { _ = try harness.queue.addWorker([], on: connection) }
            }
            #expect(try await harness.count("select count(*) from accountctl.workers") == 200)
            #expect(try await harness.count("select count(*) from accountctl.workers where beat_at <> started_at") == 0)
        }
    }

    /// A heartbeat counts even if the history cannot be asked, for however long, what became of a job.
    @Test func aHeartbeatDoesNotWaitForTheHistory() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, context in
                try await context.pool.withTransaction { try context.complete(on: $0) }
                // Runs until its lease counts as lost.
                try await Task.sleep(for: .seconds(300))
                return .completedInTransaction
            }
            let worker = try harness.worker(registry) { $0.leaseLifetime = .seconds(600) }
            try await harness.enqueue([Self.kind.job(Note())])
            try await run(worker, harness) {
                try await harness.until { try await harness.finished("completed") == 1 }
                let isAnswered = try await harness.database.withConnection(asAdministrator: true) { other in
                    try await other.transaction { other in
                        try other.execute("lock table accountctl.job_history in access exclusive mode")
                        return await worker.beat()
                    }
                }
                #expect(isAnswered)
            }
        }
    }

    /// Jobs that came while the leases were about to end are claimed once the answer has arrived, not at the next poll.
    @Test func aLateAnswerLetsClaimsGoOn() async throws {
        try await JobHarness.with { harness in
            // The statements of these sessions wait for locks without a limit.
            try await harness.database.withPool(sessionSettings: JobQueue.sessionSettings) { control in
                let worker = try harness.worker(try registry(), control: control) {
                    $0.leaseLifetime = .seconds(6)
                    $0.pollInterval = .seconds(3600)
                }
                try await run(worker, harness) {
                    try await harness.pool.withTransaction { other in
                        _ = try other.one("select id from accountctl.workers for update", as: Int64.self)
                        try await harness.until { worker.core.withLock { !$0.book.mayClaim(now: .now) } }
                        try await harness.enqueue([Self.kind.job(Note())])
                        worker.wake()
                    }
                    try await harness.until { try await harness.finished("completed") == 1 }
                }
            }
        }
    }
}
