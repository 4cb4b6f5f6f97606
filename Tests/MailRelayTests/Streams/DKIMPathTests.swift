import Testing

@testable import MailRelay

@Suite("The DKIM path of a stream")
struct DKIMPathTests {
    typealias Case = PublishedPolicies.Case

    /// Returns the zone of a case; most cases give only the selector's record.
    static func zone(_ test: Case) -> String {
        test.zone.contains("._domainkey") || test.zone.isEmpty ? test.zone : "s._domainkey.d.test TXT \(test.zone)"
    }

    static func key(_ bits: Int) -> String { MadeUpKeys.base64(MadeUpKeys.rsa(bits: bits)) }
    static let good = MadeUpKeys.quoted("v=DKIM1; k=rsa; p=\(MadeUpKeys.rsa2048)")
    static let damaged = MadeUpKeys.rsa2048.prefix(200) + "!" + MadeUpKeys.rsa2048.dropFirst(201)
    static let ed = MadeUpKeys.ed25519

    static let cases: [Case] = [
        Case("good", .ok, [], good),
        Case("missing", .broken, [.dkimMissing], ""),
        Case("revoked", .broken, [.dkimRevoked], #""v=DKIM1; p=""#),
        Case("no p", .broken, [.dkimSyntax], #""v=DKIM1; k=rsa""#),
        Case("512 bits", .broken, [.dkimTooShort], MadeUpKeys.quoted("v=DKIM1; p=\(key(512))")),
        Case("1024 bits", .weak, [.dkimShort], MadeUpKeys.quoted("v=DKIM1; p=\(key(1024))")),
        Case("4096 bits", .ok, [], MadeUpKeys.quoted("v=DKIM1; p=\(key(4096))")),
        Case(
            "PKCS #1",
            .weak,
            [.dkimBareKey],
            MadeUpKeys.quoted("v=DKIM1; p=\(MadeUpKeys.base64(MadeUpKeys.bareRSA(bits: 2048)))")
        ),
        Case("Ed25519 alone", .weak, [.dkimEd25519Only], "\"v=DKIM1; k=ed25519; p=\(ed)\""),
        Case(
            "Ed25519 of 31 bytes",
            .broken,
            [.dkimBadKey],
            "\"v=DKIM1; k=ed25519; p=\(MadeUpKeys.base64([UInt8](repeating: 1, count: 31)))\""
        ),
        Case("Ed25519 that says RSA", .broken, [.dkimKeyType], "\"v=DKIM1; k=rsa; p=\(ed)\""),
        Case(
            "RSA that says Ed25519",
            .broken,
            [.dkimKeyType],
            MadeUpKeys.quoted("v=DKIM1; k=ed25519; p=\(MadeUpKeys.rsa2048)")
        ),
        Case("unknown type", .broken, [.dkimKeyType], "\"v=DKIM1; k=dsa; p=\(ed)\""),
        Case("the least there is", .ok, [], MadeUpKeys.quoted("p=\(MadeUpKeys.rsa2048)")),
        Case("damaged base64", .broken, [.dkimBase64], MadeUpKeys.quoted("v=DKIM1; p=\(damaged)")),
        Case("cut at 255", .broken, [.dkimBadKey], "\"" + "v=DKIM1; k=rsa; p=\(MadeUpKeys.rsa2048)".prefix(254) + "\""),
        Case("space at the join", .ok, [], good.replacing("\" \"", with: "\" \" ")),
        Case("quotation marks", .broken, [.dkimBase64], #""v=DKIM1; p=AAAA\"AAAA""#),
        Case("wrong version", .broken, [.dkimVersion], MadeUpKeys.quoted("v=DKIM2; p=\(MadeUpKeys.rsa2048)")),
        Case("version last", .broken, [.dkimVersion], MadeUpKeys.quoted("k=rsa; p=\(MadeUpKeys.rsa2048); v=DKIM1")),
        Case("testing", .unknown, [.dkimTesting], MadeUpKeys.quoted("v=DKIM1; t=y; p=\(MadeUpKeys.rsa2048)")),
        Case("strict identity", .ok, [], MadeUpKeys.quoted("v=DKIM1; t=s; p=\(MadeUpKeys.rsa2048)")),
        Case("sha1 only", .broken, [.dkimHash], MadeUpKeys.quoted("v=DKIM1; h=sha1; p=\(MadeUpKeys.rsa2048)")),
        Case("sha1 and sha256", .ok, [], MadeUpKeys.quoted("v=DKIM1; h=sha1:sha256; p=\(MadeUpKeys.rsa2048)")),
        Case("for tlsrpt", .broken, [.dkimService], MadeUpKeys.quoted("v=DKIM1; s=tlsrpt; p=\(MadeUpKeys.rsa2048)")),
        Case("for e-mail", .ok, [], MadeUpKeys.quoted("v=DKIM1; s=email; p=\(MadeUpKeys.rsa2048)")),
        Case("two keys", .broken, [.dkimSeveral], "s._domainkey.d.test TXT \(good)\ns._domainkey.d.test TXT \(good)"),
        Case("alias", .ok, [], "s._domainkey.d.test CNAME s.esp.test\ns.esp.test TXT \(good)\n;._domainkey"),
        Case("dangling alias", .broken, [.dkimDangling], "s._domainkey.d.test CNAME gone.esp.test"),
        Case("wildcard text", .broken, [.dkimSyntax], #""v=spf1 -all""#),
        Case("tag twice", .broken, [.dkimSyntax], MadeUpKeys.quoted("v=DKIM1; v=DKIM1; p=\(MadeUpKeys.rsa2048)")),
        Case("silence", .unknown, [.dkimUnknown], "TIMEOUT"),
        Case("SERVFAIL", .unknown, [.dkimUnknown], "SERVFAIL"),
    ]

    static func check(_ zone: String, _ change: (inout MailStream) throws -> Void = { _ in }) async throws -> (
        PathVerdict, [Finding]
    ) {
        var stream = MailStream(
            name: "t",
            fromDomain: try DomainName(dotted: "d.test"),
            selectors: [MailStream.Selector("s")]
        )
        try change(&stream)
        let check = DKIMPathCheck(stream, try TestZone(zone).resolver)
        let found = await check.look(by: .now.advanced(by: .seconds(20)))
        return (found.path, found.findings)
    }

    @Test("each published key gets its verdict and its findings", arguments: cases)
    func key(_ test: Case) async throws {
        let (verdict, findings) = try await Self.check(Self.zone(test))
        #expect(verdict == test.verdict, "\(findings)")
        #expect(Set(findings.map(\.code)) == test.codes, "\(findings)")
    }

    @Test("a key that was cut at 255 bytes is reported as cut")
    func cut() async throws {
        let record = "v=DKIM1; k=rsa; p=\(MadeUpKeys.rsa2048)".prefix(254)
        let (_, findings) = try await Self.check("s._domainkey.d.test TXT \"\(record)\"")
        #expect(findings.first?.summary.contains("cut at the 255 bytes") == true)
    }

    @Test("selectors, targets and keys that the provider named")
    func expectations() async throws {
        let zone =
            "s._domainkey.d.test CNAME s.esp.test\ns.esp.test TXT \(Self.good)\nr._domainkey.d.test TXT \(Self.good)"
        let target = try DomainName(dotted: "s.esp.test")
        #expect(try await Self.check(zone) { $0.selectors = [MailStream.Selector("s", target: target)] }.0 == .ok)
        let other = try await Self.check(zone) { $0.selectors = [MailStream.Selector("r", target: target)] }
        #expect(other.0 == .weak && other.1.first?.code == .dkimUnexpectedTarget)
        #expect(other.1.first?.publish?.value == "s.esp.test")
        let key = try await Self.check(zone) { $0.selectors = [MailStream.Selector("s", key: MadeUpKeys.ed25519)] }
        #expect(key.0 == .broken && key.1.first?.code == .dkimUnexpectedKey)
        #expect(
            try await Self.check(zone) { $0.selectors = [MailStream.Selector("s", key: MadeUpKeys.rsa2048)] }.0 == .ok
        )
        #expect(try await Self.check(zone) { $0.selectors.append(MailStream.Selector("gone")) }.0 == .weak)
        let none = try await Self.check(zone) { $0.selectors = [] }
        #expect(none.0 == .unknown && none.1.first?.code == .dkimNoSelectors)
    }

    @Test("the record to publish names the type of the key that was expected")
    func publishedType() async throws {
        for (key, type) in [(Self.ed, "ed25519"), (MadeUpKeys.rsa2048, "rsa")] {
            let wanted = "v=DKIM1; k=\(type); p=\(key)"
            let expected = [MailStream.Selector("s", key: key)]
            let missing = try await Self.check("") { $0.selectors = expected }
            #expect(missing.1.first?.publish?.value == wanted)
            let other = MadeUpKeys.quoted("v=DKIM1; p=\(Self.key(4096))")
            let wrong = try await Self.check("s._domainkey.d.test TXT \(other)") { $0.selectors = expected }
            #expect(wrong.1.first { $0.code == .dkimUnexpectedKey }?.publish?.value == wanted)
        }
    }

    @Test("no record is suggested beside an alias; the alias's target is named")
    func noRecordBesideAlias() async throws {
        let zone = "s._domainkey.d.test CNAME s.esp.test\ns.esp.test TXT \(Self.good)"
        let (_, findings) = try await Self.check(zone) { $0.selectors = [MailStream.Selector("s", key: Self.ed)] }
        let finding = try #require(findings.first { $0.code == .dkimUnexpectedKey })
        #expect(finding.publish == nil)
        #expect(finding.summary.contains("s.esp.test"), "\(finding.summary)")
    }

    @Test("another domain's signature does not count")
    func otherDomain() async throws {
        let zone = "s._domainkey.esp.test TXT \(Self.good)"
        let (verdict, findings) = try await Self.check(zone) { $0.signingDomain = try DomainName(dotted: "esp.test") }
        #expect(verdict == .broken && findings.contains { $0.code == .dkimOtherDomain })
    }

    @Test("a signature header gives domain and selector")
    func header() {
        let header = DKIMSignatureHeader(
            "DKIM-Signature: v=1; a=rsa-sha256; d=D.test;\r\n\ts=s2024; h=from:to; bh=x; b=y"
        )
        #expect(header?.domain.description == "d.test" && header?.selector == "s2024")
        #expect(DKIMSignatureHeader("v=1; d=d.test") == nil)
        #expect(DKIMSignatureHeader("rubbish") == nil)
    }
}
