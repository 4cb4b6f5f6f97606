import Testing

@testable import MailRelay

@Suite("Remarks on the DMARC record of a stream")
struct DMARCRemarkTests {
    static let dmarcCases: [(String, Set<FindingCode>)] = [
        ("_dmarc.app.test TXT \"v=DMARC1; p=none\"", [.dmarcNotEnforced]),
        ("_dmarc.app.test TXT \"v=DMARC1\"", [.dmarcNoPolicy]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=bogus\"", [.dmarcSyntax]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=bogus; rua=mailto:d@app.test\"", [.dmarcNoPolicy]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; pct=50\"", [.dmarcHistoric]),
        ("_dmarc.app.test TXT \"v=DMARC1; t=y; p=reject\"", [.dmarcTesting]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; unknown=x\"", []),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; sp=bogus\"", [.dmarcSyntax]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; sp=bogus; rua=mailto:d@app.test\"", [.dmarcNoPolicy]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject;; rua=mailto:d@app.test\"", [.dmarcSkipped]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; p=none\"", [.dmarcSkipped]),
        ("_dmarc.app.test TXT \"v=DMARC1; reports please; p=reject\"", [.dmarcSkipped]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; fo=1\\xC2\\xA0\"", [.dmarcSkipped]),
        ("_dmarc.app.test TXT \"p=reject; v=DMARC1\"", [.dmarcMissing]),
        ("_dmarc.app.test TXT \"v=dmarc1; p=reject\"", [.dmarcMissing]),
        ("_dmarc.app.test TXT \"v=spf1 -all\"", [.dmarcMissing]),
        ("_dmarc.app.test TXT \"v=spf1 -all\"\n_dmarc.app.test TXT \"v=DMARC1; p=reject\"", []),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject\"\n_dmarc.app.test TXT \"v=DMARC1; p=none\"", [.dmarcSeveral]),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; adkim=s; aspf=s\"", []),
        ("_dmarc.app.test CNAME d.esp.test\nd.esp.test TXT \"v=DMARC1; p=reject\"", []),
        ("_dmarc.app.test TXT \"v=DMARC1; p=reject; rua=mailto:x@other.test\"", [.dmarcReportsRefused]),
        (
            "_dmarc.app.test TXT \"v=DMARC1; p=reject; rua=mailto:x@other.test\"\napp.test._report._dmarc.other.test TXT \"v=DMARC1\"",
            []
        ),
        ("_dmarc.app.test TXT TIMEOUT", [.dmarcUnknown]),
        ("_dmarc.test TXT \"v=DMARC1; p=none; sp=reject; psd=y\"", []),
    ]

    @Test("DMARC remarks", arguments: dmarcCases)
    func dmarc(record: String, codes: Set<FindingCode>) async throws {
        let zone = StreamTests.healthy.split(separator: "\n").filter { !$0.hasPrefix("_dmarc") }.joined(separator: "\n")
        let report = try await StreamTests.report(zone + "\n" + record)
        #expect(Set(report.findings.map(\.code)) == codes, "\(report.findings)")
    }

    @Test("no record is suggested beside an alias that leads nowhere; the alias's target is named")
    func noRecordBesideAlias() async throws {
        let zone = StreamTests.healthy.split(separator: "\n").filter { !$0.hasPrefix("_dmarc") }.joined(separator: "\n")
        let none = try await StreamTests.report(zone)
        let bare = try #require(none.findings.first { $0.code == .dmarcMissing })
        #expect(bare.publish?.name == "_dmarc.app.test")
        let dangling = try await StreamTests.report(zone + "\n_dmarc.app.test CNAME gone.esp.test")
        let found = try #require(dangling.findings.first { $0.code == .dmarcMissing })
        #expect(found.publish == nil && found.summary.contains("gone.esp.test"), "\(found)")
    }

    @Test("the skipped parts of a DMARC record are named, and the rest of the record counts")
    func dmarcSkipped() async throws {
        let zone = StreamTests.healthy.replacing(
            "v=DMARC1; p=reject",
            with: "v=DMARC1; p=quarantine; rubbish; p=none;;"
        )
        let report = try await StreamTests.report(zone)
        let finding = try #require(report.findings.first { $0.code == .dmarcSkipped })
        #expect(finding.summary.contains("“rubbish”") && finding.summary.contains("“p”"), "\(finding.summary)")
        #expect(finding.severity == .advice)
    }
}
