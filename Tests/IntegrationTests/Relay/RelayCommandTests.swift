import Foundation
import TestSupport
import Testing

@Suite("The relay commands, against a name server", .timeLimit(.minutes(5)))
struct RelayCommandTests {
    private func check(_ server: ZoneServer, _ more: [String]) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(["relay", "check", "shop.test", "--resolver", server.address] + more).result()
    }

    @Test("The exit code of a check tells ok, advice, broken and unknown apart")
    func exitCodes() async throws {
        try await ZoneServer.withServer(MailZone.sound) { server in
            let sound = try await check(server, MailZone.options)
            #expect(sound.status == 0, "\(sound.output) \(sound.errors)")

            try server.publish(MailZone.changed(("p=reject", "p=none")))
            let advice = try await check(server, MailZone.options)
            #expect(advice.status == 7)
            #expect(advice.output.contains("dmarc.not_enforced"))

            try server.publish(
                MailZone.changed(("include:_spf.esp.test -all", "-all"), ("s1._domainkey", "s2._domainkey"))
            )
            let broken = try await check(server, MailZone.options)
            #expect(broken.status == 8)
            #expect(broken.output.contains("spf.not_authorized") && broken.output.contains("dkim.missing"))

            try server.publish(
                MailZone.changed(
                    ("send.shop.test TXT v=spf1 include:_spf.esp.test -all", "send.shop.test TXT SERVFAIL"),
                    ("s1.esp.test TXT v=DKIM1; k=rsa; p=\(MailZone.rsaKey)", "s1.esp.test TXT SERVFAIL")
                )
            )
            let unknown = try await check(server, MailZone.options)
            #expect(unknown.status == 75, "\(unknown.output)")
            #expect(unknown.output.contains("spf.unknown"))
        }
    }

    @Test("A silent name server costs a bounded time and leads to no verdict on the sender")
    func silence() async throws {
        try await ZoneServer.withServer("shop.test TXT SILENT\nsend.shop.test TXT SILENT") { server in
            let start = ContinuousClock.now
            let result = try await check(server, ["--envelope", "send.shop.test", "--address", "192.0.2.25"])
            #expect(ContinuousClock.now - start < .seconds(35))
            #expect(result.status == 75, "\(result.output)")
        }
    }

    @Test("JSON holds the verdict, the findings with what to publish, and the raw answers; --explain adds why")
    func json() async throws {
        let zone = MailZone.changed(("include:_spf.esp.test -all", "-all"))
        try await ZoneServer.withServer(zone) { server in
            let short = try await check(server, MailZone.options + ["--json"])
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(short.output.utf8)) as? [String: Any]
            )
            #expect(report["conclusion"] as? String == "advice")
            #expect(report["spf"] as? String == "broken" && report["dkim"] as? String == "ok")
            #expect(report["robust"] as? Bool == false)
            let findings = try #require(report["findings"] as? [[String: Any]])
            let finding = try #require(findings.first { $0["code"] as? String == "spf.not_authorized" })
            #expect((finding["seen"] as? [String])?.contains { $0.contains("v=spf1 -all") } == true)
            let record = try #require(finding["publish"] as? [String: Any])
            #expect(record["type"] as? String == "TXT" && record["name"] as? String == "send.shop.test")
            #expect((record["value"] as? String)?.contains("include:_spf.esp.test") == true)
            #expect(finding["explanation"] == nil)
            let answers = try #require(report["answers"] as? [[String: Any]])
            let key = try #require(
                answers.first { $0["name"] as? String == "s1._domainkey.shop.test" && $0["type"] as? String == "TXT" }
            )
            #expect(key["aliases"] as? [String] == ["s1.esp.test"])

            let some = try await check(server, MailZone.options + ["--json", "dkim,spf"])
            #expect(some.output == "{\n  \"dkim\": \"ok\",\n  \"spf\": \"broken\"\n}\n", "\(some.output)")
            let csv = try await check(server, MailZone.options + ["--csv", "spf,dkim"])
            #expect(csv.output == "spf,dkim\nbroken,ok\n", "\(csv.output) \(csv.errors)")

            let long = try await check(server, MailZone.options + ["--explain"])
            #expect(long.output.contains("why: ") && long.output.contains("rule: RFC 7208"))
            #expect(!(try await check(server, MailZone.options)).output.contains("why: "))
        }
    }

    @Test("Publishing the records that the advice names repairs the stream")
    func adviceHelps() async throws {
        let zone = MailZone.changed(("include:_spf.esp.test -all", "-all"))
        try await ZoneServer.withServer(zone) { server in
            let report = try await check(server, MailZone.options)
            let line = try #require(
                report.output.split(separator: "\n").first { $0.contains("publish: send.shop.test") }
            )
            let value = try #require(line.range(of: "TXT "))
            try server.publish(
                zone.replacingOccurrences(
                    of: "send.shop.test TXT v=spf1 -all",
                    with: "send.shop.test TXT \(line[value.upperBound...])"
                )
            )
            let mended = try await check(server, MailZone.options)
            #expect(mended.status == 0, "\(mended.output)")
        }
    }

    @Test("Without any stream there is no verdict")
    func noStream() async throws {
        try await TestDatabase.with(.migrated) { database in
            let nothing = try await AccountctlProcess.run("relay", "check", "--json", environment: database.variables)
            #expect(nothing.status == 75 && nothing.output.filter { !$0.isWhitespace } == "[]", "\(nothing)")
            #expect(nothing.errors.contains("No mail stream is declared"), "\(nothing)")
        }
    }

    @Test("A selector may be typed as its full domain name")
    func fullSelector() async throws {
        try await ZoneServer.withServer(MailZone.sound) { server in
            let options = MailZone.options.map { $0.replacingOccurrences(of: "s1=", with: "s1._domainkey.shop.test=") }
            let result = try await check(server, options)
            #expect(result.status == 0, "\(result.output) \(result.errors)")
        }
    }
}
