import Foundation
import TestSupport
import Testing

@Suite("The metrics of the mail checks", .timeLimit(.minutes(5)))
struct RelayMetricsTests {
    private func scrape(_ port: String) async throws -> String {
        let request = "GET /metrics HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"
        return try await TestCluster.command([
            "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; cat <&3",
        ])
    }

    /// A worker that has begun to listen, and the port of its metrics.
    private func start(_ variables: [String: String]) async throws -> (worker: AccountctlProcess, port: String) {
        let worker = try AccountctlProcess(["worker"], environment: variables)
        #expect(try await worker.waitForErrors(containing: "admin listener started"))
        let told = worker.errorsSoFar
        let port = told.firstMatch(of: /"port":"?(\d+)/)?.1 ?? told.firstMatch(of: /port=(\d+)/)?.1
        return (worker, String(try #require(port)))
    }

    private func lines(of port: String, until series: String) async throws -> [String] {
        var lines: [String] = []
        try await eventually("the metrics tell \(series)", within: .seconds(60), every: .milliseconds(50)) {
            lines = try await scrape(port).split(whereSeparator: \.isNewline).map(String.init)
            return lines.contains { $0.hasPrefix(series) }
        }
        return lines
    }

    @Test("Checks, verdicts, changes and ages are reported by stream, and the streams' state by every worker")
    func metrics() async throws {
        let keys = try TestKeys.make()
        defer { keys.remove() }
        try await ZoneServer.withServer(MailZone.sound) { server in
            try await TestDatabase.with(.migrated) { database in
                let variables = database.variables.merging(keys.variables) { $1 }
                    .merging(["ACCOUNTCTL_MAIL_RESOLVERS": server.address, "ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]) {
                        $1
                    }
                let add = ["relay", "stream", "add", "news", "shop.test"] + MailZone.options
                #expect(try await AccountctlProcess(add, environment: variables).result().status == 0)
                let (worker, port) = try await start(variables)
                let checks = #"accountctl_mail_checks_total{conclusion="ok",stream="news"}"#
                let first = try await lines(of: port, until: checks + " 1")
                #expect(
                    !first.contains { $0.hasPrefix("accountctl_mail_stream_reachable") },
                    "one check settles nothing"
                )
                try await database.psql(
                    "select accountctl.enqueue_job(kind => 'mail.check', args => jsonb_build_object('stream', id), "
                        + "queue => 'mail') from accountctl.mail_streams"
                )
                // The change is counted last, so a scrape may still lack it.
                let changes = #"accountctl_mail_verdict_changes_total{stream="news"} 1"#
                let second = try await lines(of: port, until: changes)
                for series in [
                    checks + " 2",
                    #"accountctl_mail_check_duration_seconds_count{stream="news"} 2"#,
                ] { #expect(second.contains { $0.hasPrefix(series) }, "\(series)") }
                // The other worker has checked nothing itself.
                let (other, itsPort) = try await start(variables)
                let age = #"accountctl_mail_verdict_age_seconds{stream="news"} "#
                let known = try await lines(of: itsPort, until: age)
                for series in [
                    #"accountctl_mail_stream_reachable{stream="news"} 1"#,
                    #"accountctl_mail_path_ok{path="spf",stream="news"} 1"#,
                    #"accountctl_mail_path_ok{path="dkim",stream="news"} 1"#,
                ] { #expect(known.contains(series), "\(series)") }
                #expect(!known.contains { $0.hasPrefix(checks) })
                for process in [worker, other] {
                    process.signal(SIGTERM)
                    #expect(try await process.result().status == 0)
                }
            }
        }
    }
}
