import Foundation
import TestSupport
import Testing

@Suite("What the mail checks tell monitoring", .timeLimit(.minutes(1)))
struct RelayMetricsTests {
    private func scrape(_ port: String) async throws -> String {
        let request = "GET /metrics HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"
        return try await TestCluster.command([
            "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; cat <&3",
        ])
    }

    @Test("Checks, verdicts, changes and the age of what is known, by stream")
    func metrics() async throws {
        let keys = try await TestKeys.make()
        defer { keys.remove() }
        try await ZoneServer.withServer(MailZone.sound) { server in
            try await TestDatabase.with(.migrated) { database in
                let variables = database.variables.merging(keys.variables) { $1 }
                    .merging(["ACCOUNTCTL_MAIL_RESOLVERS": server.address, "ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]) {
                        $1
                    }
                let add = ["relay", "stream", "add", "news", "shop.test"] + MailZone.options
                #expect(try await AccountctlProcess(add, environment: variables).result().status == 0)
                let worker = try AccountctlProcess(["worker"], environment: variables)
                #expect(try await worker.waitForErrors(containing: "admin listener started"))
                let told = worker.errorsSoFar
                let port = try #require(
                    told.firstMatch(of: /"port":"?(\d+)/)?.1 ?? told.firstMatch(of: /port=(\d+)/)?.1
                )
                func lines(until series: String) async throws -> [String] {
                    while true {
                        let text = try await scrape(String(port))
                        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
                        if lines.contains(where: { $0.hasPrefix(series) }) { return lines }
                    }
                }
                let checks = #"accountctl_mail_checks_total{conclusion="ok",stream="news"}"#
                let first = try await lines(until: checks + " 1")
                #expect(
                    !first.contains { $0.hasPrefix("accountctl_mail_stream_reachable") },
                    "one check settles nothing"
                )
                try await database.psql(
                    "select accountctl.enqueue_job(kind => 'mail.check', args => jsonb_build_object('stream', id), "
                        + "queue => 'mail') from accountctl.mail_streams"
                )
                let second = try await lines(until: checks + " 2")
                for series in [
                    #"accountctl_mail_stream_reachable{stream="news"} 1"#,
                    #"accountctl_mail_path_ok{path="spf",stream="news"} 1"#,
                    #"accountctl_mail_path_ok{path="dkim",stream="news"} 1"#,
                    #"accountctl_mail_verdict_changes_total{stream="news"} 1"#,
                    #"accountctl_mail_verdict_age_seconds{stream="news"} 0"#,
                    #"accountctl_mail_check_duration_seconds_count{stream="news"} 2"#,
                ] { #expect(second.contains { $0.hasPrefix(series) }, "\(series)") }
                worker.signal(SIGTERM)
                #expect(try await worker.result().status == 0)
            }
        }
    }
}
