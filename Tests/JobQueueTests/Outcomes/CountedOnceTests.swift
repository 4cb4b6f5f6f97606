import Foundation
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import JobQueue

/// Each event is counted once and as what it was, whatever else fails.
@Suite(.timeLimit(.minutes(5))) struct CountedOnceTests {
    /// Jobs that a round of upkeep rescued are counted, whatever becomes of the other parts of the round.
    @Test func whatWasRescuedIsCounted() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, attempt, args)
                values ('one', 'test.good', 'running', 4711, 1, '{"text":""}')
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, parked_for, limit_key)
                values ('one', 'test.good', 'parked', 'limit', 'k')
                """
            )
            try await harness.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    raise exception 'no' using errcode = 'lock_not_available';
                end
                $$;
                create trigger refuse before update on accountctl.jobs
                for each row when (old.parked_for = 'limit') execute function public.refuse()
                """
            )
            let worker = try JobMetrics.worker(harness, metrics) { $0.leaseLifetime = .seconds(8) }
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.until { JobMetrics.value("jobs_rescued_total", metrics.text()) == 1 }
            }
        }
    }

    /// A job that is cancelled while it runs counts neither as retried nor as exhausted, whatever its handler returned;
    /// a job that its handler ended itself is counted too.
    @Test func whatWasWrittenIsCounted() async throws {
        let own = JobKind<Note>("test.own")
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            var registry = JobRegistry()
            try registry.register(JobMetrics.erase) { _, context in
                // The cancel comes after the last heartbeat, which does not report it.
                try await harness.execute(
                    "update accountctl.jobs set cancel_requested_at = now() where id = \(context.id)"
                )
                return .retry(reason: "no")
            }
            try registry.register(own) { _, context in
                try await harness.pool.withTransaction { connection in try context.complete(on: connection) }
                return .completedInTransaction
            }
            let worker = try JobMetrics.worker(harness, metrics, registry: registry)
            try await harness.enqueue([JobMetrics.erase.job(Note()), own.job(Note())])
            try await harness.withWorker(worker) {
                try await harness.until {
                    let text = metrics.text()
                    return JobMetrics.value(#"jobs_finished_total{kind="test.erase",outcome="cancelled"}"#, text) == 1
                        && JobMetrics.value(#"jobs_finished_total{kind="test.own",outcome="completed"}"#, text) == 1
                }
            }
            #expect(JobMetrics.value(#"jobs_finished_total{kind="test.erase",outcome="retried"}"#, metrics.text()) == 0)
            #expect(JobMetrics.value(#"jobs_exhausted_total{kind="test.erase"}"#, metrics.text()) == 0)
        }
    }

    /// If only the reply to the end of a job is lost, the job counts as what it was, and not as a lost lease.
    ///
    /// The same holds for an end in a transaction of the handler.
    @Test(arguments: [false, true]) func anEndWhoseReplyIsLostIsNoLostLease(isHandlers: Bool) async throws {
        try await JobHarness.with { harness in
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                let metrics = MetricsRegistry()
                // The handler has a pool of its own: the text of COMMIT is sent only until it is a prepared statement.
                let pools = PoolConfiguration(connection: through)
                try await Pool.withPool(pools, logger: harness.logger) { own in
                    let registry = try JobRegistry(JobMetrics.good) { _, context in
                        if isHandlers {
                            try await own.withTransaction { connection in
                                try context.complete(on: connection)
                                proxy.behaviour = .cutAt("commit\0", afterServerAnswered: true)
                            }
                            return .completedInTransaction
                        }
                        proxy.behaviour = .cutAt("told at the end", afterServerAnswered: true)
                        return .completed(output: try JobDocument(encoding: Note(text: "told at the end")))
                    }
                    try await Pool.withPool(pools, logger: harness.logger) { pool in
                        let worker = try JobMetrics.worker(harness, metrics, in: pool, registry: registry)
                        try await harness.enqueue([JobMetrics.good.job(Note())])
                        try await harness.withWorker(worker) {
                            try await harness.until { try await harness.finished("completed") == 1 }
                            proxy.behaviour = .forward
                            try await harness.until { Self.isTold(metrics) }
                        }
                        Self.expectCompletion(metrics)
                    }
                }
            }
        }
    }

    /// No lease counts as lost if a heartbeat comes after the handler has written the end itself and before it returns.
    @Test func anEndThatAHeartbeatFindsFirstIsNoLostLease() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let hasBeaten = Mutex(false)
            let registry = try JobRegistry(JobMetrics.good) { _, context in
                try await context.pool.withTransaction { try context.complete(on: $0) }
                try await harness.until { hasBeaten.withLock { $0 } }
                return .completedInTransaction
            }
            let worker = try JobMetrics.worker(harness, metrics, registry: registry) {
                $0.leaseLifetime = .seconds(600)
            }
            try await harness.enqueue([JobMetrics.good.job(Note())])
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.finished("completed") == 1 }
                let isAnswered = await worker.beat()
                #expect(isAnswered)
                hasBeaten.withLock { $0 = true }
                try await harness.until { Self.isTold(metrics) }
            }
            Self.expectCompletion(metrics)
        }
    }

    private static let completed = #"jobs_finished_total{kind="test.good",outcome="completed"}"#
    private static let lost = "jobs_leases_lost_total"

    /// Whether any job has been counted as completed, or any lease as lost.
    private static func isTold(_ metrics: MetricsRegistry) -> Bool {
        let text = metrics.text()
        return [completed, lost].contains { JobMetrics.value($0, text) ?? 0 > 0 }
    }

    private static func expectCompletion(_ metrics: MetricsRegistry) {
        let text = metrics.text()
        #expect(JobMetrics.value(completed, text) == 1)
        #expect(JobMetrics.value(lost, text) == 0)
    }
}
