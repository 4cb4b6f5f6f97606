import Foundation
import Postgres
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import JobQueue

/// The state of the tables as a worker's gauges report it.
@Suite(.timeLimit(.minutes(5))) struct GaugeTests {
    /// Gauges follow the tables, and go back to 0 with them: a series that keeps its last value would raise an alarm
    /// for ever.
    @Test func gaugesFollowTheTables() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try JobMetrics.worker(harness, metrics)
            let available = "jobs_depth{queue=\"one\",state=\"available\"}"
            let others = "jobs_depth{queue=\"others\",state=\"scheduled\"}"
            let oldest = "jobs_oldest_ready_seconds{queue=\"one\"}"
            try await worker.recordGauges()
            #expect(JobMetrics.value(available, metrics.text()) == 0)
            #expect(JobMetrics.value(oldest, metrics.text()) == 0)
            #expect(JobMetrics.value("jobs_history_default_rows", metrics.text()) == 0)

            try await harness.enqueue((0..<7).map { _ in try JobMetrics.good.job(Note()) })
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
            #expect(JobMetrics.value("jobs_oldest_ready_seconds{queue=\"others\"}", text) ?? 0 == 0)
            // A due job that no worker makes available counts as ready; jobs of a paused queue do not, since none could
            // run.
            try await harness.execute(
                "update accountctl.jobs set run_at = now() - interval '2 hours' where queue = 'others'"
            )
            try await harness.execute("insert into accountctl.queues (name, paused_at) values ('one', now())")
            try await worker.recordGauges()
            let later = metrics.text()
            #expect((7200...7300).contains(JobMetrics.value("jobs_oldest_ready_seconds{queue=\"others\"}", later) ?? 0))
            #expect(JobMetrics.value(oldest, later) == 0)
            let paused = "jobs_queue_paused{queue=\"one\"}"
            #expect(JobMetrics.value(paused, text) == 0 && JobMetrics.value(paused, later) == 1)
            #expect(JobMetrics.value(available, text) == 7)
            #expect(JobMetrics.value(others, text) == 2)
            #expect((3600...3700).contains(JobMetrics.value(oldest, text) ?? 0))
            #expect((0.05...30).contains(JobMetrics.value("jobs_oldest_snapshot_seconds", text) ?? 0))

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
                return JobMetrics.value("jobs_dead_rows", metrics.text()) ?? 0 >= 9
            }
            #expect(JobMetrics.value(available, metrics.text()) == 0)
            #expect(JobMetrics.value(others, metrics.text()) == 0)
            #expect(JobMetrics.value(oldest, metrics.text()) == 0)
            #expect(JobMetrics.value("jobs_history_default_rows", metrics.text()) == 1)
        }
    }

    /// Figures that can no longer be read look like good ones: only their age shows it.
    @Test func theAgeOfTheFiguresIsTold() async throws {
        try await JobHarness.with { harness in
            let reads = Mutex<[Date]>([])
            let worker = try JobMetrics.worker(
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

    /// Each worker counts all jobs: with millions of them, a few workers would keep the server busy with that alone.
    @Test(arguments: [(100, 10), (500, 10), (1000, 20), (2500, 50), (30_000, 60)])
    func readingsThatTakeLongComeRarer(milliseconds: Int, seconds: Int) {
        #expect(Worker.rest(afterGaugesOf: .milliseconds(milliseconds)) == .seconds(seconds))
    }

    /// A standby also keeps dead rows, even one that is gone, which no session of this server shows.
    ///
    /// No session shows a prepared transaction either.
    @Test func whatAStandbyPinsIsTold() async throws {
        try await TestCluster.with(settings: ["max_prepared_transactions=1"]) { cluster in
            try await JobHarness.with(in: cluster) { harness in
                let metrics = MetricsRegistry()
                let worker = try JobMetrics.worker(harness, metrics)
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
                #expect(JobMetrics.value("jobs_oldest_xmin_age", metrics.text()) ?? 0 >= 20)
                let database = harness.database
                try await database.psql("begin; select pg_current_xact_id(); prepare transaction 'it''s'")
                // The named statement ends each keeper, and then the next one shows.
                for name in ["the replication slot standby", "the prepared transaction it's"] {
                    let keeper = try await harness.pool.withConnection { connection in
                        try harness.queue.oldestKeeper(on: connection)
                    }
                    #expect(keeper?.name == name)
                    try await database.psql(try #require(keeper?.ending))
                }
            }
        }
    }

    /// Two queue names that differ in the database, as somebody may insert them by hand, are equal in Swift.
    @Test func namesThatDifferInSpellingAloneAreOneSeries() async throws {
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try JobMetrics.worker(harness, metrics)
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind)
                select queue, 'unknown' from unnest(array['caf\u{e9}', 'cafe\u{301}', 'cafe\u{301}']) as queue
                """
            )
            try await worker.recordGauges()
            let series = ["\u{e9}", "e\u{301}"].map { "jobs_depth{queue=\"caf\($0)\",state=\"available\"}" }
            #expect(series.compactMap { JobMetrics.value($0, metrics.text()) }.contains(3))
        }
    }

    /// A worker's sessions price scans of whole tables out, and beside that price a sort costs nothing.
    @Test func countingSortsNoJobsOnDisk() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                "insert into accountctl.jobs (queue, kind) select 'one', 'unknown' from generate_series(1, 5000)"
            )
            try await harness.execute("analyze accountctl.jobs")
            let files: Statement = """
                select pg_stat_get_db_temp_files(oid) from pg_database where datname = current_database()
                """
            let before = try await harness.count(files)
            let settings = ["application_name": "gauges", "work_mem": "64kB"]
                .merging(JobQueue.sessionSettings) { $1 }
            try await harness.database.withPool(maximumConnections: 1, sessionSettings: settings) { pool in
                try await harness.worker(JobRegistry(), in: pool).recordGauges()
            }
            // A session reports its counters by its end at the latest.
            try await harness.until {
                try await harness.count("select count(*) from pg_stat_activity where application_name = 'gauges'") == 0
            }
            #expect(try await harness.count(files) == before)
        }
    }
}
