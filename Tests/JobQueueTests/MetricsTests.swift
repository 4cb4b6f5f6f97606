import Foundation
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import JobQueue

/// Every metric of the worker, with the value that what happened gives it.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private static let retry = RetryPolicy.exponential(attempts: 3, base: .milliseconds(10))
    static let good = JobKind<Note>("test.good", queue: "one", retry: retry)
    static let bad = JobKind<Note>("test.bad", queue: "one", retry: retry)
    static let patient = JobKind<Note>("test.patient", queue: "two", retry: retry)
    static let lost = JobKind<Note>("test.lost", queue: "two", retry: retry)
    static let erase = JobKind<Note>(
        "test.erase",
        queue: "two",
        retry: .withoutLastAttempt(attempts: 1, base: .milliseconds(10))
    )

    private func registry(_ harness: JobHarness) throws -> JobRegistry {
        var registry = JobRegistry()
        try registry.register(Self.good) { _, _ in .completed() }
        try registry.register(Self.bad) { _, context in
            context.attempt == 1 ? .retry(reason: "once") : .discard(reason: "twice")
        }
        try registry.register(Self.patient) { _, context in
            try await harness.effect(context)
            let runs = try await harness.count("select count(*) from public.effects where job = \(context.id)")
            return runs == 1 ? .snooze(until: context.now.addingTimeInterval(0.02)) : .cancelled(reason: "no more")
        }
        try registry.register(Self.lost) { _, context in
            try await harness.effect(context, "lost")
            if try await harness.count("select count(*) from public.effects where note = 'lost'") == 1 {
                try await Task.sleep(for: .seconds(60))
            }
            return .completed()
        }
        try registry.register(Self.erase) { _, _ in .retry(reason: "no") }
        return registry
    }

    /// The value of one series; nil when there is none.
    private func value(_ series: String, _ text: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
            Double($0.dropFirst(series.count + 1))
        }
    }

    @Test func everySeriesTellsWhatHappened() async throws {
        let expected = [
            ("good", "completed", 4), ("bad", "retried", 1), ("bad", "discarded", 1), ("patient", "snoozed", 1),
            ("patient", "cancelled", 1), ("lost", "completed", 1), ("erase", "retried", 1), ("good", "parked", 0),
        ].map { kind, outcome, count in
            ("jobs_finished_total{kind=\"test.\(kind)\",outcome=\"\(outcome)\"}", count)
        }
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try worker(harness, metrics) { $0.leaseLifetime = .seconds(8) }
            // Before anything ran, alarms find their series.
            for series in ["jobs_leases_lost_total", "jobs_rescued_total", "jobs_running", "jobs_dead_rows"] {
                #expect(value(series, metrics.text()) == 0, "\(series)")
            }
            // What a dead worker left.
            try await harness.execute(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('gone', '1', 1, '{}', '{}', now() - interval '1 hour')
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, lease, attempt, args)
                select 'one', 'test.good', 'running', max(id), nextval('accountctl.job_leases'), 1, '{"text":""}'
                from accountctl.workers
                """
            )
            let lost = try await harness.enqueue([Self.lost.job(Note())])[0].id
            try await harness.enqueue(
                (0..<3).map { _ in try Self.good.job(Note()) } + [Self.bad.job(Note()), Self.patient.job(Note())]
                    + [Self.erase.job(Note())]
            )
            try await harness.withWorker(worker) {
                try await harness.until {
                    try await harness.count("select count(*) from public.effects where note = 'lost'") == 1
                }
                try await harness.execute(
                    "update accountctl.jobs set lease = nextval('accountctl.job_leases') where id = \(lost)"
                )
                try await harness.until {
                    try await harness.count(
                        "select count(*) from accountctl.jobs where exhausted_at is null"
                    ) == 0
                }
                // What was written is counted a moment later.
                try await harness.until {
                    let text = metrics.text()
                    return expected.allSatisfy { value($0, text) == Double($1) }
                }
            }
            let text = metrics.text()
            for (series, count) in expected { #expect(value(series, text) == Double(count), "\(series)") }
            #expect(value("jobs_leases_lost_total", text) == 1)
            #expect(value("jobs_rescued_total", text) == 1)
            #expect(value("jobs_exhausted_total{kind=\"test.erase\"}", text) == 1)
            #expect(value("jobs_run_seconds_count{kind=\"test.good\"}", text) == 4)
            #expect(value("jobs_wait_seconds_count{kind=\"test.bad\"}", text) == 2)
            #expect(value("jobs_running", text) == 0)
        }
    }

    /// What a round of upkeep rescued is counted, whatever becomes of its other parts.
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
            let worker = try worker(harness, metrics)
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.until { value("jobs_rescued_total", metrics.text()) == 1 }
            }
        }
    }

    /// Cancelled while it ran, a job is neither retried nor one that somebody should look at, whatever its handler
    /// asked for; one that its handler ended is counted, too.
    @Test func whatWasWrittenIsCounted() async throws {
        let own = JobKind<Note>("test.own")
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            var registry = JobRegistry()
            try registry.register(Self.erase) { _, context in
                // After the last beat before the end, which does not tell of it.
                try await harness.execute(
                    "update accountctl.jobs set cancel_requested_at = now() where id = \(context.id)"
                )
                return .retry(reason: "no")
            }
            try registry.register(own) { _, context in
                try await harness.pool.withTransaction { connection in try context.complete(on: connection) }
                return .completedInTransaction
            }
            let worker = try worker(harness, metrics, registry: registry)
            try await harness.enqueue([Self.erase.job(Note()), own.job(Note())])
            try await harness.withWorker(worker) {
                try await harness.until {
                    let text = metrics.text()
                    return value(#"jobs_finished_total{kind="test.erase",outcome="cancelled"}"#, text) == 1
                        && value(#"jobs_finished_total{kind="test.own",outcome="completed"}"#, text) == 1
                }
            }
            #expect(value(#"jobs_finished_total{kind="test.erase",outcome="retried"}"#, metrics.text()) == 0)
            #expect(value(#"jobs_exhausted_total{kind="test.erase"}"#, metrics.text()) == 0)
        }
    }

    /// A worker that counts into `metrics`.
    private func worker(
        _ harness: JobHarness,
        _ metrics: MetricsRegistry,
        in pool: Pool? = nil,
        registry: JobRegistry? = nil,
        _ change: (inout WorkerConfiguration) -> Void = { _ in },
        figuresRead: @escaping @Sendable (Date) -> Void = { _ in }
    ) throws -> Worker {
        try Worker(
            queue: harness.queue,
            pool: pool ?? harness.pool,
            listener: nil,
            registry: registry ?? self.registry(harness),
            configuration: harness.configuration(change),
            logger: harness.logger,
            metrics: metrics,
            figuresRead: figuresRead
        )
    }

    /// Figures that can no longer be read look like good ones: only their age tells.
    @Test func theAgeOfTheFiguresIsTold() async throws {
        try await JobHarness.with { harness in
            let reads = Mutex<[Date]>([])
            let worker = try worker(
                harness,
                MetricsRegistry(),
                figuresRead: { moment in reads.withLock { $0.append(moment) } }
            )
            #expect(reads.withLock(\.count) == 1)
            try await worker.recordGauges()
            #expect(reads.withLock(\.count) == 2)
            try await harness.execute("alter table accountctl.jobs rename to away")
            await #expect(throws: PostgresError.self) { try await worker.recordGauges() }
            #expect(reads.withLock(\.count) == 2)
        }
    }

    /// A standby keeps dead rows alive too, also one that has gone: no session of this server tells of it.
    @Test func whatAStandbyPinsIsTold() async throws {
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                let metrics = MetricsRegistry()
                let worker = try worker(harness, metrics)
                _ = try await cluster.psql(
                    database: harness.database.name,
                    "select pg_create_physical_replication_slot('standby')"
                )
                let settings = ["hot_standby_feedback=on", "primary_slot_name=standby"]
                try await Standby.with(of: cluster, settings: settings) { _ in
                    try await harness.until {
                        try await harness.count("select count(*) from pg_replication_slots where xmin is not null") == 1
                    }
                }
                for _ in 0..<20 { try await harness.execute("select pg_current_xact_id()") }
                try await worker.recordGauges()
                #expect(value("jobs_oldest_xmin_age", metrics.text()) ?? 0 >= 20)
            }
        }
    }

    /// The reply to the end of a job is lost, not the end: it counts as what it was, and not as a lease that was lost.
    @Test func anEndWhoseReplyIsLostIsNoLostLease() async throws {
        try await JobHarness.with { harness in
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let through = ConnectionConfiguration(conninfo: harness.database.conninfo(port: proxy.port))
                let metrics = MetricsRegistry()
                var registry = JobRegistry()
                try registry.register(Self.good) { _, _ in
                    proxy.behaviour = .cutAt("told at the end", afterServerAnswered: true)
                    return .completed(output: try JobDocument(encoding: Note(text: "told at the end")))
                }
                let fixed = registry
                let completed = "jobs_finished_total{kind=\"test.good\",outcome=\"completed\"}"
                try await Pool.withPool(PoolConfiguration(connection: through), logger: harness.logger) { pool in
                    let worker = try worker(harness, metrics, in: pool, registry: fixed)
                    try await harness.enqueue([Self.good.job(Note())])
                    try await harness.withWorker(worker) {
                        try await harness.until { try await harness.finished("completed") == 1 }
                        proxy.behaviour = .forward
                        try await harness.until {
                            let text = metrics.text()
                            return (value(completed, text) ?? 0) + (value("jobs_leases_lost_total", text) ?? 0) > 0
                        }
                    }
                    #expect(value(completed, metrics.text()) == 1)
                    #expect(value("jobs_leases_lost_total", metrics.text()) == 0)
                }
            }
        }
    }

    /// Two queues to the table, whose names somebody wrote by hand, and one to Swift.
    @Test func namesThatDifferInSpellingAloneAreOneSeries() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try worker(harness, metrics)
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind)
                select queue, 'unknown' from unnest(array['caf\u{e9}', 'cafe\u{301}', 'cafe\u{301}']) as queue
                """
            )
            try await worker.recordGauges()
            let series = ["\u{e9}", "e\u{301}"].map { "jobs_depth{queue=\"caf\($0)\",state=\"available\"}" }
            #expect(series.compactMap { value($0, metrics.text()) }.contains(3))
        }
    }

    /// Gauges follow the tables, and go back to 0 with them: a series that keeps its last value rings for ever.
    @Test func gaugesFollowTheTables() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try worker(harness, metrics)
            let available = "jobs_depth{queue=\"one\",state=\"available\"}"
            let others = "jobs_depth{queue=\"others\",state=\"scheduled\"}"
            let oldest = "jobs_oldest_ready_seconds{queue=\"one\"}"
            try await worker.recordGauges()
            #expect(value(available, metrics.text()) == 0)
            #expect(value(oldest, metrics.text()) == 0)
            #expect(value("jobs_history_default_rows", metrics.text()) == 0)

            try await harness.enqueue((0..<7).map { _ in try Self.good.job(Note()) })
            try await harness.execute("update accountctl.jobs set run_at = now() - interval '1 hour'")
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, run_at)
                select 'others', 'unknown', 'scheduled', now() + interval '1 hour' from generate_series(1, 2)
                """
            )
            try await harness.database.withConnection { connection in
                try await connection.transaction(isolation: .repeatableRead) { connection in
                    _ = try connection.one("select count(*) from accountctl.jobs", as: Int.self)
                    try await Task.sleep(for: .milliseconds(50))
                    try await worker.recordGauges()
                }
            }
            let text = metrics.text()
            #expect(value("jobs_oldest_ready_seconds{queue=\"others\"}", text) ?? 0 == 0)
            // Due, and nobody there who makes it available; and of a queue that is paused none could run.
            try await harness.execute(
                "update accountctl.jobs set run_at = now() - interval '2 hours' where queue = 'others'"
            )
            try await harness.execute("insert into accountctl.queues (name, paused_at) values ('one', now())")
            try await worker.recordGauges()
            let later = metrics.text()
            #expect((7200...7300).contains(value("jobs_oldest_ready_seconds{queue=\"others\"}", later) ?? 0))
            #expect(value(oldest, later) == 0)
            #expect(value(available, text) == 7)
            #expect(value(others, text) == 2)
            #expect((3600...3700).contains(value(oldest, text) ?? 0))
            #expect((0.05...30).contains(value("jobs_oldest_snapshot_seconds", text) ?? 0))

            try await harness.execute(
                """
                insert into accountctl.job_history (
                    id, lease, finished_at, run_at, created_at, outcome, priority, attempt, crashes, args_version,
                    queue, kind, args
                )
                values (1, 1, now() + interval '1 year', now(), now(), 'completed', 5, 1, 0, 1, 'one', 'k', '{}')
                """
            )
            try await harness.execute("delete from accountctl.jobs")
            // The server counts dead rows a moment after the transaction.
            try await harness.until {
                try await worker.recordGauges()
                return value("jobs_dead_rows", metrics.text()) ?? 0 >= 9
            }
            #expect(value(available, metrics.text()) == 0)
            #expect(value(others, metrics.text()) == 0)
            #expect(value(oldest, metrics.text()) == 0)
            #expect(value("jobs_history_default_rows", metrics.text()) == 1)
        }
    }
}
