import Foundation
import TestSupport
import Testing

@Suite("The worker's metrics, as Prometheus reads them", .timeLimit(.minutes(1)))
struct WorkerMetricsTests {
    /// Asks the admin listener as plainly as possible.
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
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var variables = ["ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]
        for name in ["sealing", "hash"] {
            let path = folder.appendingPathComponent(name).path
            let line = try await AccountctlProcess.run("keys", "new", name).output
            #expect(
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(line.utf8),
                    attributes: [.posixPermissions: 0o600]
                )
            )
            variables["ACCOUNTCTL_KEYS_\(name.uppercased())_FILE"] = path
        }
        let settings = variables
        try await TestDatabase.with(.migrated) { database in
            // Nobody's kind: it waits, and is counted.
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
            // The first look at the tables comes with the first round of upkeep; the minute's upkeep job runs within a minute.
            repeat {
                text = try await scrape(String(port))
                // A scrape may come in the middle of a round: the ages are told after the depths.
            } while value("jobs_oldest_ready_seconds{queue=\"others\"}", text) == nil
            worker.signal(SIGTERM)
            #expect(try await worker.result().status == 0)
            #expect(value("jobs_depth{queue=\"others\",state=\"available\"}", text) == 3)
            #expect(value("jobs_depth{queue=\"others\",state=\"scheduled\"}", text) == 1)
            #expect((7200...7300).contains(value("jobs_oldest_ready_seconds{queue=\"others\"}", text) ?? 0))
            #expect(value("jobs_history_default_rows", text) == 0)
            #expect(value("jobs_leases_lost_total", text) == 0)
            #expect(value("jobs_rescued_total", text) == 0)
            #expect(value("jobs_exhausted_total{kind=\"deletion.upkeep\"}", text) == 0)
            for outcome in ["completed", "retried", "discarded"] {
                let series = "jobs_finished_total{kind=\"deletion.upkeep\",outcome=\"\(outcome)\"}"
                #expect(value(series, text) != nil, "\(series)")
            }
            for name in ["jobs_run_seconds", "jobs_wait_seconds"] {
                #expect(value("\(name)_count{kind=\"deletion.upkeep\"}", text) != nil, "\(name)")
                #expect(text.contains("# TYPE \(name) histogram"))
            }
            for name in ["jobs_oldest_snapshot_seconds", "jobs_dead_rows", "jobs_running"] {
                #expect(value(name, text) ?? -1 >= 0, "\(name)")
                #expect(text.contains("# TYPE \(name) gauge"))
            }
        }
    }
}
