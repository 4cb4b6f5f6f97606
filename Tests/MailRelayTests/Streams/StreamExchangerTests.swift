import Testing

@testable import MailRelay

@Suite("Mail exchangers of a stream")
struct StreamExchangerTests {
    static let exchangerCases: [(String, Set<FindingCode>)] = [
        ("send.app.test MX 0 .", [.mxNull]),
        ("send.app.test MX 0 .\nsend.app.test MX 10 mx.app.test", [.mxNullBesideOthers]),
        ("send.app.test A 192.0.2.5", [.mxImplicit]),
        ("", [.mxNone]),
        ("send.app.test MX 10 alias.test\nalias.test CNAME mx.app.test", [.mxAlias]),
        ("send.app.test MX 10 192.0.2.7", [.mxAddress, .mxDead]),
        ("send.app.test MX 10 dead.test", [.mxDead]),
        ("send.app.test MX SERVFAIL", [.mxUnknown]),
    ]

    @Test("mail exchangers", arguments: exchangerCases)
    func exchangers(record: String, codes: Set<FindingCode>) async throws {
        let zone = StreamTests.healthy.split(separator: "\n").filter { !$0.hasPrefix("send.app.test MX") }.joined(
            separator: "\n"
        )
        let report = try await StreamTests.report(zone + "\n" + record)
        #expect(Set(report.findings.map(\.code)) == codes, "\(report.findings)")
        #expect(report.verdict.reachable == .yes)
    }

    @Test("exchangers whose address could not be read are named")
    func unreadExchangers() async throws {
        let zone = """
            app.test MX 10 mx.app.test
            mx.app.test A 192.0.2.9
            send.app.test MX 10 mx.app.test
            send.app.test MX 20 mx.silent.test
            send.app.test TXT "v=spf1 ip4:192.0.2.25 -all"
            mx.silent.test A SERVFAIL
            """
        let findings = try await StreamTests.report(zone).findings.filter { $0.code == .mxUnknown }
        #expect(findings.map(\.subject) == ["send.app.test"])
        #expect(findings.map(\.summary) == ["the address of these exchangers could not be read: mx.silent.test"])
    }

    /// An envelope domain may be an alias of the provider's: then the provider's records are at fault, and no record of
    /// the operator's can mend them.
    @Test(
        "a fault behind an alias names it",
        arguments: [("", FindingCode.mxNone), ("bounce.esp.test MX 0 .", .mxNull)]
    )
    func faultBehindAnAlias(_ record: String, _ code: FindingCode) async throws {
        let zone = """
            app.test MX 10 mx.app.test
            mx.app.test A 192.0.2.9
            send.app.test CNAME bounce.esp.test
            bounce.esp.test TXT "v=spf1 ip4:192.0.2.25 -all"
            \(record)
            """
        let findings = try await StreamTests.report(zone).findings.filter { $0.code == code }
        #expect(findings.map(\.subject) == ["send.app.test"])
        #expect(findings.allSatisfy { $0.summary.hasSuffix("; the domain is an alias of bounce.esp.test") })
    }
}
