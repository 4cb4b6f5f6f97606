import Testing

@testable import MailRelay

@Suite("The SPF path of a stream")
struct SPFPathTests {
    /// Checks a stream in this zone, together with the zone of the provider that sends the stream.
    private func path(beside zone: String) async throws -> (PathVerdict, [Finding]) {
        let stream = try MailStream(
            name: "t",
            fromDomain: DomainName(dotted: "d.test"),
            provider: MailStream.Provider(includes: [DomainName(dotted: "_spf.esp.test")])
        )
        let zone = try TestZone(PublishedPolicies.provider + zone)
        return await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
    }

    @Test("each published policy gets its verdict and its findings", arguments: PublishedPolicies.cases)
    func policy(_ test: PublishedPolicies.Case) async throws {
        let (verdict, findings) = try await path(beside: test.zone)
        #expect(verdict == test.verdict, "\(findings)")
        // Remarks on included names repeat what the verdict says and are not listed in the cases.
        let codes = Set(findings.filter { $0.subject == "d.test" }.map(\.code))
        #expect(codes == test.codes, "\(findings)")
    }

    @Test("a name whose TXT records are about other things is said to have no policy among them")
    func otherTexts() async throws {
        let zone = "d.test TXT \"v=spf1 redirect=r.test\"\nr.test TXT \"site=1\"\ne.test TXT \"site=2\""
        for (name, subject) in [("d.test", "r.test"), ("e.test", "e.test")] {
            let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: name))
            let check = SPFPathCheck(stream, try TestZone(zone).resolver)
            let (_, findings) = await check.run(by: .now.advanced(by: .seconds(20)))
            let found = findings.filter { $0.subject == subject }.map(\.summary)
            #expect(found.contains { $0.hasSuffix("policy: none of its TXT records is one") }, "\(findings)")
        }
    }

    @Test("a name that does not exist is reported in addition to the missing policy")
    func noName() async throws {
        let zone = try TestZone(PublishedPolicies.provider.replacing("d.test", with: "other.test"))
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"))
        let (verdict, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        #expect(verdict == .broken)
        #expect(findings.contains { $0.code == .nameMissing } && findings.contains { $0.code == .spfMissing })
    }

    @Test("the suggested record keeps the policy and adds the provider before “all”")
    func suggestion() async throws {
        let (_, findings) = try await path(beside: #"d.test TXT "v=spf1 ip4:203.0.113.9 -all""#)
        let publish = try #require(findings.first { $0.code == .spfNotAuthorized }?.publish)
        #expect(publish.value == "v=spf1 ip4:203.0.113.9 include:_spf.esp.test -all")
        #expect(publish.name == "d.test" && publish.type == "TXT")
    }

    @Test("a suggested first policy does not reject senders of the domain that were not stated")
    func firstPolicy() async throws {
        let (_, findings) = try await path(beside: "d.test A 192.0.2.9")
        let publish = try #require(findings.first { $0.code == .spfMissing }?.publish)
        #expect(publish.value == "v=spf1 include:_spf.esp.test ~all")
    }

    @Test(
        "a policy that the provider's include would turn into an error is not suggested, and the reason is given",
        arguments: [(9, true), (10, false)]
    )
    func suggestionTooLong(terms: Int, fits: Bool) async throws {
        let includes = PublishedPolicies.many.split(separator: " ").prefix(terms).joined(separator: " ")
        let own = "\nd.test TXT \"v=spf1 \(includes) -all\""
        let (verdict, findings) = try await path(beside: PublishedPolicies.manyZone + own)
        #expect(verdict == .broken)
        let found = try #require(findings.first { $0.code == .spfNotAuthorized })
        #expect((found.publish != nil) == fits, "\(found)")
        #expect(found.summary.contains("more than 10 terms") == !fits, "\(found.summary)")
    }

    @Test("no record is suggested beside an existing or wanted alias; the alias's target is named")
    func noRecordBesideAlias() async throws {
        let include = try DomainName(dotted: "_spf.esp.test")
        func finding(_ zone: String, target: String? = nil) async throws -> Finding {
            let target = try target.map { try DomainName(dotted: $0) }
            let stream = MailStream(
                name: "t",
                fromDomain: try DomainName(dotted: "d.test"),
                provider: MailStream.Provider(includes: [include], returnPathTarget: target)
            )
            let check = SPFPathCheck(stream, try TestZone(PublishedPolicies.provider + zone).resolver)
            let (_, findings) = await check.run(by: .now.advanced(by: .seconds(20)))
            let codes: Set<FindingCode> = [.spfNotAuthorized, .spfMissing, .spfPartly]
            return try #require(findings.first { codes.contains($0.code) })
        }
        let alias = "d.test CNAME e.test\n"
        for zone in [
            alias + "e.test TXT \"v=spf1 ip4:203.0.113.9 -all\"", alias + "e.test A 192.0.2.1",
            alias + "e.test TXT \"v=spf1 ip4:192.0.2.25 -all\"",
        ] {
            let found = try await finding(zone)
            #expect(found.publish == nil && found.summary.contains("e.test"), "\(found)")
        }
        let wanted = try await finding("d.test TXT \"v=spf1 -all\"", target: "ret.esp.test")
        #expect(wanted.publish == nil && wanted.summary.contains("ret.esp.test"), "\(wanted)")
    }

    @Test(
        "the envelope domain is an alias of the name that the provider expects, directly or through another alias",
        arguments: [
            ("d.test CNAME ret.esp.test", true), ("d.test CNAME m.test\nm.test CNAME ret.esp.test", true),
            ("d.test CNAME m.test\nm.test CNAME gone.test", false), ("d.test TXT \"v=spf1 -all\"", false),
            ("d.test TXT TIMEOUT", true),
        ]
    )
    func returnPath(own: String, isExpected: Bool) async throws {
        let zone = try TestZone("ret.esp.test TXT \"v=spf1 ip4:192.0.2.25 -all\"\n" + own)
        let stream = try MailStream(
            name: "t",
            fromDomain: DomainName(dotted: "d.test"),
            provider: MailStream.Provider(returnPathTarget: DomainName(dotted: "ret.esp.test"))
        )
        let (_, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        let finding = findings.first { $0.code == .envelopeTarget }
        #expect((finding == nil) == isExpected, "\(findings)")
        #expect(isExpected || finding?.publish?.value == "ret.esp.test")
    }

    @Test(
        "hints name the usual causes",
        arguments: [
            (#""v=spf1 include:_spf.esp.test" "ip4:198.51.100.1 -all""#, "joined without a space"),
            (#""v=spf1 include:_spf.esp.test\x09-all""#, "tab"), (#""v=spf1 inlcude:_spf.esp.test -all""#, "include"),
            (#""v=spf1 ip4:192.0.2.1-all""#, "a space is missing before “-all”"),
            (#""v=spf1 a:x.test, -all""#, "commas"),
            (#""v=spf1 a:x.test \xE2\x80\x93all""#, "dash"),
        ]
    )
    func hints(record: String, words: String) async throws {
        let zone = try TestZone("d.test TXT \(record)")
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"))
        let (_, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        let summary = try #require(findings.first { $0.code == .spfSyntax }?.summary)
        #expect(summary.contains(words), "\(summary)")
    }
}
