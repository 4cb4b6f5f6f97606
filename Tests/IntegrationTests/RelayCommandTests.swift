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

    @Test("A name server that is silent costs a bounded time and is no verdict on the sender")
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

    @Test("Following the advice mends the stream: what is to be published is published")
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

    @Test("Of no stream at all nothing can be told")
    func noStream() async throws {
        try await TestDatabase.with(.migrated) { database in
            let nothing = try await AccountctlProcess.run("relay", "check", "--json", environment: database.variables)
            #expect(nothing.status == 75 && nothing.output.filter { !$0.isWhitespace } == "[]", "\(nothing)")
            #expect(nothing.errors.contains("no mail stream is declared"), "\(nothing)")
        }
    }

    @Test(
        "What is typed wrong is one clear line, and no question is asked",
        arguments: [
            (["check", "https://shop.test/path"], "is a URL, a domain is wanted: shop.test"),
            (["check", "news@shop.test"], "is an e-mail address, a domain is wanted: shop.test"),
            (["check", "192.0.2.1."], "is an IP address"),
            (["check", "[2001:db8::1]"], "is an IP address"),
            (["check", "bücher.test"], "xn--"),
            (["check", String(repeating: "a", count: 64) + ".test"], "63"),
            (["check", "a..test"], "a..test"),
            (["check", "sh\u{1B}[31mop.test"], "which no such name has"),
            (["check", "shop.test", "--selector", "s1._domainkey.other.test"], "is not a selector of this domain"),
            (["check", "shop.test", "--selector", "s1=x"], "--selector: "),
            (["check", "shop.test", "--envelope", "localhost"], "--envelope: "),
            (["check", "shop.test", "--signing", ""], "--signing: "),
            (["check", "shop.test", "--include", "a@b.test"], "--include: "),
            (["check", "shop.test", "--return-path-target", "x"], "--return-path-target: "),
            (["check", "shop.test", "--registered", "x"], "--registered: "),
            (["check", "shop.test", "--address", "192.0.2.0/33"], "is no address or range"),
            (["check", "shop.test", "--signature", "v=1; a=rsa-sha256"], "no d= and s="),
            (["check", "shop.test", "--resolver", "ns.shop.test"], "--resolver"),
            (["spf", "--ip", "192.0.2", "--from", "a@b.test", "--helo", "h.test"], "\"192.0.2\" is no IP address"),
            (["spf", "--ip", "192.0.2.1"], "--from"),
            (["can-send", "--stream", "news", "--user", "anna"], "is no user id"),
            (["stream", "add", "a.b", "shop.test"], "1 to 63 characters"),
            (["stream", "add", "news", "shop.test", "--registered", "shop.test", "--by", " "], "--by is empty"),
        ]
    )
    func badInput(_ arguments: [String], _ message: String) async throws {
        let result = try await AccountctlProcess(["relay"] + arguments).result()
        #expect(result.status == 2, "\(result.output) \(result.errors)")
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(!result.errors.contains("\u{1B}"))
    }

    @Test("A selector typed in full is its selector")
    func fullSelector() async throws {
        try await ZoneServer.withServer(MailZone.sound) { server in
            let options = MailZone.options.map { $0.replacingOccurrences(of: "s1=", with: "s1._domainkey.shop.test=") }
            let result = try await check(server, options)
            #expect(result.status == 0, "\(result.output) \(result.errors)")
        }
    }

    @Test(
        "SPF is evaluated for one sender, over IPv4 and IPv6, with its trace",
        arguments: [
            ("192.0.2.25", "bounce@send.shop.test", "pass"), ("2001:db8:25::25", "bounce@send.shop.test", "pass"),
            ("192.0.2.26", "bounce@send.shop.test", "fail"), ("192.0.2.25", "a@shop.test", "fail"),
            ("192.0.2.25", "a@esp.test", "none"), ("192.0.2.25", "", "none"),
        ]
    )
    func spf(_ ip: String, _ from: String, _ expected: String) async throws {
        try await ZoneServer.withServer(MailZone.sound + "\nesp.test A 192.0.2.1") { server in
            let result = try await AccountctlProcess([
                "relay", "spf", "--ip", ip, "--from", from, "--helo", "out.esp.test", "--resolver", server.address,
                "--json",
            ]).result()
            #expect(result.status == 0)
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
            )
            #expect(object["result"] as? String == expected)
            #expect(object["terms"] is Int && object["voids"] is Int && object["trace"] is [Any])
        }
    }

    @Test("A stream is declared, listed, checked twice by the worker, shown with its differences, asked about, removed")
    func stream() async throws {
        try await ZoneServer.withServer(MailZone.sound) { server in
            try await TestDatabase.with(.migrated) { database in
                let keys = try await TestKeys.make()
                defer { keys.remove() }
                let variables = database.variables.merging(keys.variables) { $1 }
                    .merging(["ACCOUNTCTL_MAIL_RESOLVERS": server.address, "USER": "kim"]) { $1 }
                func run(_ arguments: String...) async throws -> AccountctlProcess.Result {
                    try await AccountctlProcess(["relay"] + arguments, environment: variables).result()
                }
                func work() async throws {
                    try await database.psql(
                        "select accountctl.enqueue_job(kind => 'mail.check', args => jsonb_build_object('stream', id), "
                            + "queue => 'mail', unique_key => 'mail.check:' || id) from accountctl.mail_streams"
                    )
                    let worker = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                    #expect(worker.status == 0, "\(worker.errors)")
                }
                let add = ["relay", "stream", "add", "news", "shop.test"] + MailZone.options
                let json = ["--json", "outcome"]
                let dry = try await AccountctlProcess(add + ["--dry-run"] + json, environment: variables).result()
                #expect(dry.status == 0 && dry.output.contains(#""would_be_done""#), "\(dry)")
                #expect(try await run("stream", "list", "--json").output == "[]\n")
                let added = try await AccountctlProcess(add + json, environment: variables).result()
                #expect(added.status == 0 && added.output.contains(#""done""#), "\(added)")
                for again in [add, add + ["--dry-run"]] {
                    let twice = try await AccountctlProcess(again, environment: variables).result()
                    #expect(twice.status == 6 && twice.errors.contains("there is a stream news already"))
                }

                let user = UUID().uuidString.lowercased()
                try await database.psql(
                    "insert into auth.users (id, email) values ('\(user)', 'x1@privaterelay.appleid.com')"
                )
                func todo(_ user: String) async throws -> AccountctlProcess.Result {
                    try await run("can-send", "--stream", "news", "--user", user, "--tsv", "todo")
                }
                let early = try await todo(user)
                #expect(early.status == 75 && early.output.contains("accountctl relay check news"), "\(early)")
                try await work()
                let once = try await run("stream", "list", "--json", "name,reachable")
                #expect(once.output.contains(#""reachable":null"#), "one check is not enough: \(once.output)")
                try await work()
                let settled = try await run("stream", "list", "--json", "name,spf,dkim,reachable")
                let held = #"{"dkim":"ok","name":"news","reachable":"yes","spf":"ok"}"#
                #expect(settled.output.contains(held), "\(settled.output)")
                let yes = try await run("can-send", "--stream", "news", "--user", user, "--json")
                #expect(yes.status == 0 && yes.output.contains(#""answer": "yes""#), "\(yes.output)")

                // As where nothing is registered any more: the paths do not tell.
                let answer = "update accountctl.mail_streams set reachable = 'no', standing = "
                try await database.psql(answer + "jsonb_set(standing, '{known,reachable}', '\"no\"')")
                let unregistered = try await run("can-send", "--stream", "news", "--user", user, "--tsv", "reason,todo")
                #expect(unregistered.status == 8 && unregistered.output.contains("SPF ok, DKIM ok"), "\(unregistered)")
                #expect(unregistered.output.contains("a path is open, and its name not registered"), "\(unregistered)")
                let former = answer.replacing("'no'", with: "'yes'")
                try await database.psql(former + "jsonb_set(standing, '{known,reachable}', '\"yes\"')")

                // DNS is silent: what is known stays known, and ages.
                try server.publish(
                    MailZone.changed(
                        (
                            "_spf.esp.test TXT v=spf1 ip4:192.0.2.25 ip6:2001:db8:25::25 -all",
                            "_spf.esp.test TXT SERVFAIL"
                        )
                    )
                )
                for _ in 0..<2 { try await work() }
                let aged = try await run("stream", "list", "--json", "name,spf,reachable,unknown_since")
                #expect(aged.output.contains(#""reachable":"yes","spf":"ok","unknown_since":"2"#), "\(aged.output)")
                #expect(try await run("can-send", "--stream", "news", "--user", user).status == 0)

                try server.publish("shop.test TXT none")
                for _ in 0..<2 { try await work() }
                let typo = try await run("can-send", "--stream", "nwes", "--user", user)
                #expect(typo.status == 3 && typo.errors.contains("there is no stream \"nwes\""), "\(typo.errors)")
                let no = try await run("can-send", "--stream", "news", "--user", user)
                #expect(no.status == 8 && no.output.contains("does not take mail of this stream"), "\(no.output)")
                let mending = try await todo(user).output
                #expect(mending.contains("no path is open: what to publish"), "\(mending)")
                #expect(mending.contains("accountctl relay check news --explain"), "\(mending)")
                // The stream is not why.
                let nobody = try await todo(UUID().uuidString)
                #expect(nobody.status == 8 && !nobody.output.contains("accountctl"), "\(nobody)")
                let shown = try await run("stream", "show", "news")
                #expect(shown.output.contains("reachable: yes -> no") && shown.output.contains("spf.missing"))
                #expect(shown.output.contains("shop.test (by kim)"))
                #expect(try await run("check", "news").status == 8)
                #expect(try await run("check", "news", "--selector", "s2").status == 2)
                #expect(try await run("check", "other").status == 3)
                #expect(try await run("check").status == 8)

                let counted = try await run("addresses")
                #expect(counted.output.contains("privaterelay.appleid.com"))
                let listed = try await run("addresses", "--list")
                #expect(listed.output.contains(user) && !listed.output.contains("x1@"), "masked: \(listed.output)")

                #expect(try await run("stream", "remove", "news").status == 2, "nobody to ask")
                let rehearsed = try await run("stream", "remove", "news", "--dry-run", "--json", "outcome")
                #expect(rehearsed.output.contains(#""would_be_done""#), "\(rehearsed)")
                let removed = try await run("stream", "remove", "news", "--confirm=news", "--json", "outcome")
                #expect(removed.status == 0 && removed.output.contains(#""done""#), "\(removed)")
                #expect(try await run("stream", "show", "news").status == 3)
            }
        }
    }

    @Test("A refusal is explained from an argument, from standard input, and from a delivery-status message")
    func bounces() async throws {
        let reply = "550 5.1.1 <bounce@send.shop.test>: unauthorized sender"
        let typed = try await AccountctlProcess.run("relay", "bounce", "explain", reply)
        #expect(typed.status == 0 && typed.output.contains("configuration"), "\(typed.output)")
        let piped = try await AccountctlProcess.run("relay", "bounce", "explain", input: reply + "\r\n")
        #expect(piped.output == typed.output)
        let message = """
            Content-Type: message/delivery-status

            Reporting-MTA: dns; out.esp.test

            Final-Recipient: rfc822; x1@privaterelay.appleid.com
            Action: failed
            Status: 5.1.1
            Diagnostic-Code: smtp; \(reply)
            """
        let report = try await AccountctlProcess.run("relay", "bounce", "explain", "--json", input: message)
        #expect(report.status == 0 && report.output.contains(#""cause":"configuration""#), "\(report.output)")
        #expect(try await AccountctlProcess.run("relay", "bounce", "explain", input: "hello").status == 3)
    }
}
