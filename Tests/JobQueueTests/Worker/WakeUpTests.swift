import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Jobs are found although notifications get lost in every way they can.
@Suite(.timeLimit(.minutes(5))) struct WakeUpTests {
    static let plain = JobKind<Note>("test.plain")

    private func withWorker(
        _ harness: JobHarness,
        listener: ConnectionConfiguration?,
        poll: Duration,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let registry = try harness.recording(Self.plain)
        let worker = try harness.worker(
            registry,
            listener: listener.map { JobListener($0, logger: harness.logger) }
        ) { $0.pollInterval = poll }
        try await harness.withWorker(worker) {
            try await body()
        }
    }

    private func add(_ harness: JobHarness) async throws {
        try await harness.enqueue([Self.plain.job(Note())])
    }

    /// The listening connection stays open but delivers nothing: a job waits for one poll at most.
    @Test func aDeafListenerCostsOnePoll() async throws {
        try await JobHarness.with { harness in
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                try await withWorker(harness, listener: through, poll: .seconds(5)) {
                    try await harness.database.waitUntilListening("accountctl_jobs")
                    try await add(harness)
                    try await harness.until { try await harness.effects() == 1 }
                    proxy.behaviour = .blackHole
                    for number in 2...3 {
                        // Only a poll can find this job.
                        let added = ContinuousClock.now
                        try await add(harness)
                        try await harness.until { try await harness.effects() == number }
                        // The poll comes within five seconds and a fifth; the rest allows for a busy machine.
                        #expect(ContinuousClock.now - added < .seconds(15))
                    }
                    proxy.behaviour = .cut
                    try await harness.database.waitUntilNobodyListens("accountctl_jobs")
                    proxy.behaviour = .forward
                    try await harness.database.waitUntilListening("accountctl_jobs")
                    try await add(harness)
                    try await harness.until { try await harness.effects() == 4 }
                }
            }
        }
    }

    /// With polling practically off, jobs that came while nobody listened are found when the listener is back, and by
    /// nothing else.
    @Test func whatCameMeanwhileIsFoundAfterReconnecting() async throws {
        try await JobHarness.with { harness in
            // This job comes before there is a worker.
            try await add(harness)
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                try await withWorker(harness, listener: through, poll: .seconds(3600)) {
                    try await harness.until { try await harness.effects() == 1 }
                    for number in 2...4 {
                        try await harness.database.waitUntilListening("accountctl_jobs")
                        proxy.behaviour = .cut
                        try await harness.database.waitUntilNobodyListens("accountctl_jobs")
                        try await add(harness)
                        // Only the reconnection can find this job: the next poll is an hour away.
                        proxy.behaviour = .forward
                        try await harness.until { try await harness.effects() == number }
                    }
                }
            }
        }
    }

    /// A wake-up outside a transaction saves the flush of its commit; one in a caller's transaction leaves that flush
    /// alone.
    @Test func aWakeUpInATransactionLeavesItsFlushAlone() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            let (before, after) = try await harness.pool.withTransaction { connection in
                let before = try connection.one("show synchronous_commit", as: String.self)
                try queue.wake(["default"], on: connection)
                return (before, try connection.one("show synchronous_commit", as: String.self))
            }
            #expect(before == "on")
            #expect(after == before)
        }
    }

    /// After the reply to a commit is lost the caller cannot know the outcome: it repeats the call with the same key,
    /// and there is one job.
    @Test(arguments: [false, true]) func anEnqueueInDoubtIsRepeatedSafely(isCommitted: Bool) async throws {
        try await JobHarness.with { harness in
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                var through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                // No detection of a pooler, whose statements are not part of this test.
                through.pooler = .none
                let job = try Self.plain.job(Note(), uniqueKey: "once")
                let isNew = try await Pool.withPool(
                    PoolConfiguration(connection: through),
                    logger: harness.logger
                ) { pool in
                    try await pool.withConnection { connection in _ = try connection.one("select 1", as: Int.self) }
                    // Matches the end of the statement too, since BEGIN contains the words "read committed".
                    proxy.behaviour = .cutAt("commit\0", afterServerAnswered: isCommitted)
                    let error = await #expect(throws: PostgresError.self) {
                        try await harness.queue.enqueue([job], in: pool)
                    }
                    #expect(error?.code == .commitInDoubt)
                    proxy.behaviour = .forward
                    return try await harness.queue.enqueue([job], in: pool)[0].isNew
                }
                #expect(isNew == !isCommitted)
                #expect(try await harness.unfinished() == 1)
            }
        }
    }
}

extension TestDatabase {
    /// Waits until some session of this database has run LISTEN for a channel.
    func waitUntilListening(_ channel: String) async throws {
        try await waitForListeners("a session listens to \(channel)", channel) { $0 > 0 }
    }

    /// Waits until the server has noticed that no session listens any more.
    func waitUntilNobodyListens(_ channel: String) async throws {
        try await waitForListeners("no session listens to \(channel)", channel) { $0 == 0 }
    }

    private func waitForListeners(
        _ what: String,
        _ channel: String,
        _ isReached: @Sendable (Int) -> Bool
    ) async throws {
        try await withConnection(asAdministrator: true) { connection in
            let listening: Statement = """
                select count(*)
                from pg_stat_activity
                where datname = current_database() and state = 'idle'
                and query ilike \("listen%" + channel + "%")
                """
            try await eventually(what, within: .seconds(120), every: .milliseconds(5)) {
                isReached(try connection.one(listening, as: Int.self))
            }
        }
    }
}
