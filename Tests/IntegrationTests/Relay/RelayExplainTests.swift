import Foundation
import TestSupport
import Testing

@Suite("One sender and one refusal, explained", .timeLimit(.minutes(5)))
struct RelayExplainTests {
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

    @Test("A refusal is explained from an argument, from standard input, and from a delivery-status message")
    func bounces() async throws {
        let reply = "550 5.1.1 <bounce@send.shop.test>: unauthorized sender"
        let typed = try await AccountctlProcess.run("relay", "bounce", "explain", reply)
        #expect(typed.status == 0 && typed.output.contains("configuration"), "\(typed.output)")
        let piped = try await AccountctlProcess.run("relay", "bounce", "explain", input: reply + "\r\n")
        #expect(piped.output == typed.output)
        let dashed = try await AccountctlProcess.run("relay", "bounce", "explain", "-", input: reply)
        #expect(dashed.output == typed.output)
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
        // A message may be about several recipients, whose explanations differ.
        let shown = try await AccountctlProcess.run("relay", "bounce", "explain", input: message)
        #expect(shown.output.contains("x***@p***.com") && !typed.output.contains("Recipient"), "\(shown.output)")
        #expect(try await AccountctlProcess.run("relay", "bounce", "explain", input: "hello").status == 3)
    }
}
