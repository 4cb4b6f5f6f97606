import Foundation
import MailRelay
import Postgres
import Telemetry
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite("Gauges of mail streams", .timeLimit(.minutes(5)))
struct MailGaugesTests {
    private func check(_ id: Int64, _ report: StreamReport, at now: Date, in pool: Pool) async throws {
        // A verdict is what two checks agree on.
        for _ in 0..<2 {
            _ = try await pool.withConnection { connection in
                try await MailCheckStore.record(
                    report,
                    streamID: id,
                    at: now,
                    took: .zero,
                    jitter: 0,
                    on: connection
                )
            }
        }
    }

    private func lines(_ metrics: MetricsRegistry) -> [String] {
        metrics.text().split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }

    @Test("every process publishes the current verdicts, whoever made the checks, and nothing of a removed stream")
    func everybodyTells() async throws {
        try await MailStreamTests.withPool { pool, _ in
            let news = try await MailStreamTests.add(MailStreamTests.stream, to: pool)
            var other = MailStreamTests.stream
            other.name = "bills"
            let bills = try await MailStreamTests.add(other, to: pool)
            let metrics = MetricsRegistry()
            var gauges = MailGauges(factory: metrics)
            try await gauges.publish(from: pool)
            #expect(lines(metrics) == [], "nothing is held of them yet")

            try await check(news, MailStreamTests.report(.broken, .broken), at: Date(), in: pool)
            try await check(bills, MailStreamTests.report(.ok, .broken, of: other), at: Date() - 3600, in: pool)
            try await gauges.publish(from: pool)
            for line in [
                #"accountctl_mail_stream_reachable{stream="news"} 0"#,
                #"accountctl_mail_stream_reachable{stream="bills"} 1"#,
                #"accountctl_mail_path_ok{path="spf",stream="bills"} 1"#,
                #"accountctl_mail_path_ok{path="dkim",stream="bills"} 0"#,
            ] { #expect(lines(metrics).contains(line), "\(line)") }
            let age = lines(metrics).first { $0.hasPrefix(#"accountctl_mail_verdict_age_seconds{stream="bills"} 36"#) }
            #expect(age != nil)

            // As if another process had made the check.
            try await check(news, MailStreamTests.report(.ok, .ok), at: Date(), in: pool)
            try await gauges.publish(from: pool)
            #expect(lines(metrics).contains(#"accountctl_mail_stream_reachable{stream="news"} 1"#))
            #expect(try await pool.withConnection { try MailStreamStore.remove(named: "news", on: $0) })
            try await gauges.publish(from: pool)
            #expect(!lines(metrics).contains { $0.contains("news") } && lines(metrics).count == 4)
        }
    }
}
