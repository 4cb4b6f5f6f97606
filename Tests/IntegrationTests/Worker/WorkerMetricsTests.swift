import Foundation
import JobQueue
import Postgres
import Telemetry
import TestSupport
import Testing

@testable import accountctl

@Suite("The worker's metrics, as Prometheus reads them", .timeLimit(.minutes(5)))
struct WorkerMetricsTests {
    /// Requests the metrics from the admin listener through a plain socket.
    private func scrape(_ port: String) async throws -> String {
        try await TestCluster.command([
            "bash", "-c",
            "exec 3<>/dev/tcp/127.0.0.1/\(port); printf 'GET /metrics HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
        ])
    }

    private func value(_ series: String, _ text: String) -> Double? {
        text.split(whereSeparator: \.isNewline).first { $0.hasPrefix(series + " ") }
            .flatMap { Double($0.dropFirst(series.count + 1)) }
    }

    @Test("Depth, age, rate, latency, retries, lost leases, oldest snapshot and dead rows are there")
    func everyMetric() async throws {
        let keys = try TestKeys.make()
        defer { keys.remove() }
        let settings = keys.variables.merging(["ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]) { $1 }
        try await TestDatabase.with(.migrated) { database in
            // No worker handles this kind: its jobs wait, and are counted.
            try await database.psql(
                """
                select accountctl.enqueue_job('unknown', queue => 'others') from generate_series(1, 3);
                select accountctl.enqueue_job('unknown', queue => 'others', run_at => now() + interval '1 hour');
                update accountctl.jobs set run_at = now() - interval '2 hours' where state = 'available'
                """
            )
            let worker = try AccountctlProcess(["worker"], environment: database.variables.merging(settings) { $1 })
            #expect(try await worker.waitForErrors(containing: "admin listener started"))
            let told = worker.errorsSoFar
            let port = try #require(told.firstMatch(of: /"port":"?(\d+)/)?.1 ?? told.firstMatch(of: /port=(\d+)/)?.1)
            var text = ""
            // The tables are first read in the first round of upkeep; the minute's upkeep job runs within a minute.
            repeat {
                text = try await scrape(String(port))
                // A scrape may come in the middle of a round, and the ages are set after the depths.
            } while value("jobs_oldest_ready_seconds{queue=\"others\"}", text) == nil
            worker.signal(SIGTERM)
            #expect(try await worker.result().status == 0)
            #expect(value("jobs_depth{queue=\"others\",state=\"available\"}", text) == 3)
            #expect(value("jobs_depth{queue=\"others\",state=\"scheduled\"}", text) == 1)
            #expect((7200...7300).contains(value("jobs_oldest_ready_seconds{queue=\"others\"}", text) ?? 0))
            #expect(value("jobs_history_default_rows", text) == 0)
            #expect(value("jobs_leases_lost_total", text) == 0)
            for figures in ["jobs", "deletions", "mail streams"] {
                let read = value("accountctl_figures_timestamp_seconds{figures=\"\(figures)\"}", text)
                #expect(abs(Date().timeIntervalSince1970 - (read ?? 0)) < 60, "\(figures)")
            }
            #expect(value("jobs_rescued_total", text) == 0)
            #expect(value("jobs_exhausted_total{kind=\"deletion.upkeep\"}", text) == 0)
            for outcome in ["completed", "retried", "discarded"] {
                let series = "jobs_finished_total{kind=\"deletion.upkeep\",outcome=\"\(outcome)\"}"
                #expect(value(series, text) != nil, "\(series)")
            }
            for name in ["jobs_run_seconds", "jobs_wait_seconds"] {
                #expect(value("\(name)_count{kind=\"deletion.upkeep\"}", text) != nil, "\(name)")
                #expect(text.contains("# HELP \(name) "))
                #expect(text.contains("# TYPE \(name) histogram"))
            }
            for name in ["jobs_oldest_snapshot_seconds", "jobs_dead_rows", "jobs_running"] {
                #expect(value(name, text) ?? -1 >= 0, "\(name)")
                #expect(text.contains("# TYPE \(name) gauge"))
            }
        }
    }

    @Test("Figures that could not be read have no time of reading")
    func unreadFigures() async throws {
        let metrics = MetricsRegistry()
        let series = "accountctl_figures_timestamp_seconds{figures=\"deletions\"}"
        try await TestDatabase.with(.empty) { database in
            try await database.withPool { pool in
                let watch = GaugeWatch(pool: pool, webSecret: nil, logger: .silent, factory: metrics)
                let look = { @Sendable () async throws -> Void in
                    _ = try await pool.withConnection { try $0.one("select 1 from figures", as: Int.self) }
                }
                var failures = FailureCounts()
                await watch.tell("deletions", &failures, look)
                #expect(value(series, metrics.text()) == nil)
                try await database.psql("create table figures as select 1; grant select on figures to postgres")
                await watch.tell("deletions", &failures, look)
                #expect(value(series, metrics.text()) ?? 0 > 1e9)
            }
        }
    }
}
