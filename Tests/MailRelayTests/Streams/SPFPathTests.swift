import Testing

@testable import MailRelay

/// Policies as people publish them, for a provider that sends from 192.0.2.25 and 2001:db8:25::25.
@Suite("The SPF path of a stream")
struct SPFPathTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let zone: String
        let verdict: PathVerdict
        let codes: Set<FindingCode>

        init(_ name: String, _ verdict: PathVerdict, _ codes: Set<FindingCode> = [], _ zone: String) {
            self.name = name
            self.zone = zone
            self.verdict = verdict
            self.codes = codes
        }

        var testDescription: String { name }
    }

    static let provider = """
        _spf.esp.test TXT "v=spf1 ip4:192.0.2.25 ip6:2001:db8:25::25 -all"
        esp.test A 192.0.2.1
        d.test MX 10 mx.esp.test
        mx.esp.test A 192.0.2.2
        mx.esp.test AAAA 2001:db8::2

        """

    static let many = (1...11).map { "include:i\($0).test" }.joined(separator: " ")
    static let manyZone = (1...11).map { "i\($0).test TXT \"v=spf1 ip4:203.0.113.\($0) -all\"" }.joined(separator: "\n")
    static let large = String(repeating: "ip4:198.51.100.1/32 ", count: 200)

    static let cases: [Case] = [
        Case("good", .ok, [], #"d.test TXT "v=spf1 include:_spf.esp.test -all""#),
        Case("none", .broken, [.spfMissing], #"d.test A 192.0.2.9"#),
        Case("other text", .broken, [.spfMissing], #"d.test TXT "google-site-verification=x""#),
        Case(
            "two records",
            .broken,
            [.spfSeveral],
            "d.test TXT \"v=spf1 -all\"\nd.test TXT \"v=spf1 include:_spf.esp.test -all\""
        ),
        Case(
            "10 terms",
            .ok,
            [],
            "d.test TXT \"v=spf1 \((1...9).map { "include:i\($0).test" }.joined(separator: " ")) include:_spf.esp.test -all\"\n"
                + manyZone
        ),
        Case(
            "11 terms",
            .broken,
            [.spfTooManyTerms],
            "d.test TXT \"v=spf1 \(many) include:_spf.esp.test -all\"\n" + manyZone
        ),
        Case(
            "12 terms, found early",
            .ok,
            [.spfTermsWorstCase],
            "d.test TXT \"v=spf1 include:_spf.esp.test \(many) -all\"\n" + manyZone
        ),
        Case("2 voids", .ok, [], #"d.test TXT "v=spf1 a:v1.test a:v2.test include:_spf.esp.test -all""#),
        Case(
            "3 voids",
            .broken,
            [.spfTooManyVoids],
            #"d.test TXT "v=spf1 a:v1.test a:v2.test a:v3.test include:_spf.esp.test -all""#
        ),
        Case(
            "voids only over IPv6",
            .weak,
            [.spfPartly, .spfTooManyVoids],
            "d.test TXT \"v=spf1 a:a1.test a:a2.test a:a3.test include:_spf.esp.test -all\"\n"
                + (1...3).map { "a\($0).test A 203.0.113.\($0)" }.joined(separator: "\n")
        ),
        Case(
            "3 voids behind the provider",
            .ok,
            [.spfVoidsWorstCase],
            #"d.test TXT "v=spf1 include:_spf.esp.test a:v1.test a:v2.test a:v3.test -all""#
        ),
        Case(
            "11 exchangers",
            .broken,
            [.spfTooManyExchangers],
            "d.test TXT \"v=spf1 mx:m.test include:_spf.esp.test -all\"\n"
                + (1...11).map { "m.test MX \($0) h\($0).test" }.joined(separator: "\n")
        ),
        Case("includes itself", .broken, [.spfTooManyTerms], #"d.test TXT "v=spf1 include:d.test -all""#),
        Case(
            "redirects in a circle",
            .broken,
            [.spfTooManyTerms],
            "d.test TXT \"v=spf1 redirect=e.test\"\ne.test TXT \"v=spf1 redirect=d.test\""
        ),
        Case("+all", .weak, [.spfAnyone], #"d.test TXT "v=spf1 +all""#),
        Case("bare all", .weak, [.spfAnyone], #"d.test TXT "v=spf1 include:_spf.esp.test all""#),
        Case("?all, provider in", .ok, [.spfNeutralAll], #"d.test TXT "v=spf1 include:_spf.esp.test ?all""#),
        Case("?all, provider not in", .broken, [.spfNeutralAll, .spfNotAuthorized], #"d.test TXT "v=spf1 ?all""#),
        Case("no all", .ok, [.spfNoAll], #"d.test TXT "v=spf1 include:_spf.esp.test""#),
        Case("ptr", .ok, [.spfPtr], #"d.test TXT "v=spf1 include:_spf.esp.test ptr -all""#),
        Case(
            "include of a name that is not there",
            .broken,
            [.spfTargetWithoutPolicy],
            #"d.test TXT "v=spf1 include:gone.test include:_spf.esp.test -all""#
        ),
        Case(
            "include without policy",
            .broken,
            [.spfTargetWithoutPolicy],
            #"d.test TXT "v=spf1 include:esp.test include:_spf.esp.test -all""#
        ),
        Case(
            "include with two policies",
            .broken,
            [.spfSeveral],
            "d.test TXT \"v=spf1 include:two.test include:_spf.esp.test -all\"\ntwo.test TXT \"v=spf1 -all\"\ntwo.test TXT \"v=spf1 ~all\""
        ),
        Case(
            "include that fails",
            .unknown,
            [.spfUnknown],
            "d.test TXT \"v=spf1 include:f.test include:_spf.esp.test -all\"\nf.test TXT SERVFAIL"
        ),
        Case(
            "include that is silent",
            .unknown,
            [.spfUnknown],
            "d.test TXT \"v=spf1 include:f.test include:_spf.esp.test -all\"\nf.test * TIMEOUT"
        ),
        Case("redirect", .ok, [], #"d.test TXT "v=spf1 redirect=_spf.esp.test""#),
        Case("redirect into nothing", .broken, [.spfTargetWithoutPolicy], #"d.test TXT "v=spf1 redirect=gone.test""#),
        Case(
            "redirect beside all",
            .broken,
            [.spfRedirectIgnored, .spfNotAuthorized],
            #"d.test TXT "v=spf1 -all redirect=_spf.esp.test""#
        ),
        Case(
            "good macro",
            .ok,
            [],
            "d.test TXT \"v=spf1 exists:%{ir}.ok.test -all\"\n25.2.0.192.ok.test A 127.0.0.2\n5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.2.0.0.8.b.d.0.1.0.0.2.ok.test A 127.0.0.2"
        ),
        Case("bad macro", .broken, [.spfSyntax], #"d.test TXT "v=spf1 exists:%(ir).ok.test -all""#),
        Case("misspelt mechanism", .broken, [.spfSyntax], #"d.test TXT "v=spf1 inlcude:_spf.esp.test -all""#),
        Case(
            "unknown modifier",
            .ok,
            [.spfUnknownModifier],
            #"d.test TXT "v=spf1 include:_spf.esp.test moo=cow -all""#
        ),
        Case("bad ip4", .broken, [.spfSyntax], #"d.test TXT "v=spf1 ip4:192.0.2 include:_spf.esp.test -all""#),
        Case("bad prefix", .broken, [.spfSyntax], #"d.test TXT "v=spf1 ip4:192.0.2.0/33 include:_spf.esp.test -all""#),
        Case(
            "families swapped",
            .broken,
            [.spfSyntax],
            #"d.test TXT "v=spf1 ip4:2001:db8::1 include:_spf.esp.test -all""#
        ),
        Case(
            "terms behind all",
            .broken,
            [.spfAfterAll, .spfNotAuthorized],
            #"d.test TXT "v=spf1 -all include:_spf.esp.test""#
        ),
        Case(
            "glued -all",
            .broken,
            [.spfTargetWithoutPolicy, .spfNoAll],
            #"d.test TXT "v=spf1 include:_spf.esp.test-all""#
        ),
        Case("commas", .broken, [.spfSyntax], #"d.test TXT "v=spf1 include:_spf.esp.test, -all""#),
        Case("upper case", .ok, [], #"d.test TXT "V=SPF1 INCLUDE:_spf.esp.test -ALL""#),
        Case(
            "leading space",
            .broken,
            [.spfMissing, .spfLookalike],
            #"d.test TXT " v=spf1 include:_spf.esp.test -all""#
        ),
        Case("trailing space", .ok, [], #"d.test TXT "v=spf1 include:_spf.esp.test -all ""#),
        Case(
            "quotation marks in the text",
            .broken,
            [.spfMissing, .spfLookalike],
            #"d.test TXT "\"v=spf1 include:_spf.esp.test -all\"""#
        ),
        Case("en dash", .broken, [.spfSyntax], #"d.test TXT "v=spf1 include:_spf.esp.test \xE2\x80\x93all""#),
        Case("no-break space", .broken, [.spfSyntax], #"d.test TXT "v=spf1 include:_spf.esp.test\xC2\xA0-all""#),
        Case("tab", .broken, [.spfSyntax], #"d.test TXT "v=spf1 include:_spf.esp.test\x09-all""#),
        Case("another provider, -all", .broken, [.spfNotAuthorized], #"d.test TXT "v=spf1 ip4:203.0.113.9 -all""#),
        Case("another provider, ~all", .broken, [.spfNotAuthorized], #"d.test TXT "v=spf1 ip4:203.0.113.9 ~all""#),
        Case("split strings", .ok, [], #"d.test TXT "v=spf1 include:_spf" ".esp.test -all""#),
        Case(
            "split strings, space lost",
            .broken,
            [.spfSyntax],
            #"d.test TXT "v=spf1 include:_spf.esp.test" "ip4:198.51.100.1 -all""#
        ),
        Case("retired type only", .broken, [.spfMissing], #"d.test SPF "v=spf1 include:_spf.esp.test -all""#),
        Case(
            "retired type beside",
            .ok,
            [.spfRetiredType],
            "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\nd.test SPF \"v=spf1 -all\""
        ),
        Case("alias", .ok, [], "d.test CNAME e.test\ne.test TXT \"v=spf1 include:_spf.esp.test -all\""),
        Case("4 kB", .ok, [.spfLarge], "d.test TXT \"v=spf1 \(large)include:_spf.esp.test -all\""),
        Case("only IPv4 may", .weak, [.spfPartly], #"d.test TXT "v=spf1 ip4:192.0.2.25 -all""#),
        Case("SERVFAIL", .unknown, [.spfUnknown], "d.test TXT SERVFAIL"),
        Case("silence", .unknown, [.spfUnknown], "d.test TXT TIMEOUT"),
    ]

    @Test("each published policy gets its verdict and its findings", arguments: cases)
    func policy(_ test: Case) async throws {
        let zone = try TestZone(Self.provider + test.zone)
        let stream = try MailStream(
            name: "t",
            fromDomain: DomainName(dotted: "d.test"),
            provider: MailStream.Provider(includes: [DomainName(dotted: "_spf.esp.test")])
        )
        let (verdict, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        #expect(verdict == test.verdict, "\(findings)")
        // Remarks on included names repeat what the verdict says and are not listed in the cases.
        let codes = Set(findings.filter { $0.subject == "d.test" }.map(\.code))
        #expect(codes == test.codes, "\(findings)")
    }

    @Test("a name that does not exist is told besides the policy that is missing")
    func noName() async throws {
        let zone = try TestZone(Self.provider.replacing("d.test", with: "other.test"))
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"))
        let (verdict, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        #expect(verdict == .broken)
        #expect(findings.contains { $0.code == .nameMissing } && findings.contains { $0.code == .spfMissing })
    }

    @Test("what to publish keeps the policy and puts the provider in front of all")
    func suggestion() async throws {
        let zone = try TestZone(Self.provider + #"d.test TXT "v=spf1 ip4:203.0.113.9 -all""#)
        let stream = try MailStream(
            name: "t",
            fromDomain: DomainName(dotted: "d.test"),
            provider: MailStream.Provider(includes: [DomainName(dotted: "_spf.esp.test")])
        )
        let (_, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        let publish = try #require(findings.first { $0.code == .spfNotAuthorized }?.publish)
        #expect(publish.value == "v=spf1 ip4:203.0.113.9 include:_spf.esp.test -all")
        #expect(publish.name == "d.test" && publish.type == "TXT")
    }

    @Test("no record is to be published beside an alias, there or wanted; its target is named")
    func noRecordBesideAlias() async throws {
        let include = try DomainName(dotted: "_spf.esp.test")
        func finding(_ zone: String, target: String? = nil) async throws -> Finding {
            let target = try target.map { try DomainName(dotted: $0) }
            let stream = MailStream(
                name: "t",
                fromDomain: try DomainName(dotted: "d.test"),
                provider: MailStream.Provider(includes: [include], returnPathTarget: target)
            )
            let check = SPFPathCheck(stream, try TestZone(Self.provider + zone).resolver)
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

    /// A provider whose include leads on to others, as large ones have them.
    private func path(_ zone: String, includes: Bool = true) async throws -> (PathVerdict, [Finding]) {
        let provider = try MailStream.Provider(includes: includes ? [DomainName(dotted: "_spf.esp.test")] : [])
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"), provider: provider)
        return await SPFPathCheck(stream, try TestZone(zone).resolver).run(by: .now.advanced(by: .seconds(20)))
    }

    @Test(
        "silence below the provider's include, or below the own policy, is unknown and never broken",
        arguments: [
            "_spf.esp.test TXT \"v=spf1 include:_net.esp.test ~all\"\n_net.esp.test TXT TIMEOUT",
            "_spf.esp.test TXT \"v=spf1 include:_net.esp.test ~all\"\n_net.esp.test TXT SERVFAIL",
            "_spf.esp.test TXT \"v=spf1 redirect=_net.esp.test\"\n_net.esp.test TXT SERVFAIL",
            "_spf.esp.test TXT \"v=spf1 a:mx.esp.test ~all\"\nmx.esp.test A SERVFAIL\nmx.esp.test AAAA SERVFAIL",
            "_spf.esp.test TXT \"v=spf1 mx:esp.test ~all\"\nesp.test MX TIMEOUT",
        ],
        [true, false]
    )
    func silenceBelow(zone: String, includes: Bool) async throws {
        let own = "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\n"
        let (verdict, findings) = try await path(own + zone, includes: includes)
        #expect(verdict == .unknown, "\(findings)")
        #expect(findings.contains { $0.code == .spfUnknown })
        #expect(!findings.contains { $0.severity == .broken }, "\(findings)")
    }

    @Test("what of a provider's ranges could be read passes, and the rest is spoken of")
    func partialSilence() async throws {
        let zone = """
            d.test TXT "v=spf1 ip4:192.0.2.0/24 include:_spf.esp.test -all"
            _spf.esp.test TXT "v=spf1 ip4:192.0.2.25 include:_net.esp.test ~all"
            _net.esp.test TXT TIMEOUT
            """
        let (verdict, findings) = try await path(zone)
        #expect(verdict == .ok)
        #expect(
            findings.contains {
                $0.code == .spfUnknown && $0.severity == .unknown && $0.summary.contains("_net.esp.test TXT")
            },
            "\(findings)"
        )
    }

    @Test("more ranges than are tried, and more policies than are read, are said")
    func cut() async throws {
        let many = (0..<200).map { "ip4:10.0.\($0).0/24" }.joined(separator: " ")
        let (verdict, findings) = try await path(
            "d.test TXT \"v=spf1 ip4:10.0.0.0/8 -all\"\n_spf.esp.test TXT \"v=spf1 \(many) ~all\""
        )
        #expect(verdict == .ok)
        #expect(findings.first { $0.code == .checkCut }?.summary.contains("256 of 400") == true, "\(findings)")

        let includes = (0..<80).map { "include:i\($0).test" }.joined(separator: " ")
        let policies = (0..<80).map { "i\($0).test TXT \"v=spf1 ip4:10.1.\($0).1 -all\"" }.joined(separator: "\n")
        let (_, wide) = try await path(
            "d.test TXT \"v=spf1 ip4:10.0.0.0/8 -all\"\n_spf.esp.test TXT \"v=spf1 \(includes) ~all\"\n" + policies
        )
        #expect(wide.contains { $0.code == .checkCut && $0.subject == "_spf.esp.test" }, "\(wide)")
    }

    @Test("a policy made to cost lookups is not read to its end, and no list in a finding is as long as it likes")
    func boundedLookups() async throws {
        let terms = (0..<60).map { "mx:m\($0).test" }.joined(separator: " ")
        let exchangers = (0..<60).flatMap { mx in (0..<10).map { "m\(mx).test MX 10 h\($0).m\(mx).test" } }
        let own = "d.test TXT \"v=spf1 include:_spf.esp.test \(terms) -all\"\n"
        let zone = Self.provider + own + exchangers.joined(separator: "\n")
        let asked = RecordingResolver(try TestZone(zone).resolver)
        let domain = try DomainName(dotted: "d.test")
        let tree = await SPFTreeReader(asked).read(domain, by: .now.advanced(by: .seconds(20)))
        #expect(tree.isCut)
        #expect(asked.answers.count <= 200, "\(asked.answers.count)")

        let (verdict, findings) = try await path(zone, stating: ["_spf.esp.test"])
        #expect(verdict == .ok)
        #expect(findings.contains { $0.code == .spfVoidsWorstCase } && findings.allSatisfy { $0.seen.count <= 21 })
    }

    @Test("when time is up no more of a policy is read, and that counts as silence")
    func timeIsUp() async throws {
        let zone = Self.provider + "d.test TXT \"v=spf1 include:_spf.esp.test a:x.test -all\""
        let asked = RecordingResolver(try TestZone(zone).resolver)
        let tree = await SPFTreeReader(asked).read(try DomainName(dotted: "d.test"), by: .now)
        #expect(asked.answers.map(\.question.description) == ["d.test TXT"])
        #expect(tree.isCut && tree.gaps.map(\.outcome) == [.timeout])
    }

    @Test("a provider whose include depends on the sender cannot be listed")
    func openProvider() async throws {
        let zone = try TestZone(
            "d.test TXT \"v=spf1 include:_spf.open.test -all\"\n_spf.open.test TXT \"v=spf1 exists:%{i}.open.test -all\""
        )
        let stream = try MailStream(
            name: "t",
            fromDomain: DomainName(dotted: "d.test"),
            provider: MailStream.Provider(includes: [DomainName(dotted: "_spf.open.test")])
        )
        let (verdict, findings) = await SPFPathCheck(stream, zone.resolver).run(by: .now.advanced(by: .seconds(20)))
        #expect(verdict == .unknown)
        #expect(findings.contains { $0.code == .spfCannotEnumerate && $0.severity == .unknown })
    }

    /// What is found of a stream whose provider was stated by these includes.
    private func path(_ zone: String, stating includes: [String]) async throws -> (PathVerdict, [Finding]) {
        let provider = try MailStream.Provider(includes: includes.map { try DomainName(dotted: $0) })
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"), provider: provider)
        return await SPFPathCheck(stream, try TestZone(zone).resolver).run(by: .now.advanced(by: .seconds(20)))
    }

    @Test("a policy that lets its own addresses send is not good for a provider that nobody named")
    func senderUnstated() async throws {
        let (verdict, findings) = try await path("d.test TXT \"v=spf1 ip4:192.0.2.25 -all\"", stating: [])
        #expect(verdict == .unknown)
        #expect(findings.first { $0.code == .spfSenderUnstated }?.severity == .unknown)
        // What no sender survives is broken, whoever sends.
        for policy in ["include:gone.test ip4:192.0.2.25 -all", "-all"] {
            #expect(try await path("d.test TXT \"v=spf1 \(policy)\"", stating: []).0 == .broken, "\(policy)")
        }
    }

    @Test(
        "an include that was stated and lists nothing is spoken of, and is no fault of the stream's policy",
        arguments: [("", "is the name right?"), ("typo.test TXT \"v=spf1 -all\"", "lists no addresses")]
    )
    func emptyInclude(_ more: String, _ words: String) async throws {
        let zone = Self.provider + "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\n" + more
        for includes in [["typo.test"], ["_spf.esp.test", "typo.test"], ["typo.test", "_spf.esp.test"]] {
            let (verdict, findings) = try await path(zone, stating: includes)
            #expect(verdict == .unknown, "\(includes) \(findings)")
            let finding = findings.first { $0.subject == "typo.test" }
            #expect(finding?.code == .spfTargetWithoutPolicy && finding?.severity == .unknown, "\(findings)")
            #expect(finding?.summary.contains(words) == true, "\(findings)")
            #expect(!findings.contains { $0.severity == .broken }, "\(findings)")
        }
        let nobody = zone.replacing("include:_spf.esp.test -all", with: "-all")
        #expect(try await path(nobody, stating: ["typo.test"]).0 == .broken)
        // A range that is refused is lost mail, whatever another include would have told.
        let another = zone.replacing("include:_spf.esp.test -all", with: "ip4:203.0.113.9 -all")
        #expect(try await path(another, stating: ["typo.test", "_spf.esp.test"]).0 == .broken)
    }

    @Test("an include that DNS does not tell of leaves open what the others' addresses seem to settle")
    func unreadableInclude() async throws {
        let zone = Self.provider + "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\nslow.test TXT TIMEOUT"
        let (verdict, findings) = try await path(zone, stating: ["_spf.esp.test", "slow.test"])
        #expect(verdict == .unknown)
        #expect(findings.contains { $0.code == .spfUnknown && $0.subject == "slow.test" }, "\(findings)")
    }

    @Test("“+all” is seen behind a redirect, and behind an include that lets nobody send it is none")
    func anyoneBelow() async throws {
        let behind = "\nr.test TXT \"v=spf1 +all\""
        let includes = ["_spf.esp.test"]
        let redirect = try await path(
            Self.provider + "d.test TXT \"v=spf1 redirect=r.test\"" + behind,
            stating: includes
        )
        #expect(redirect.0 == .weak)
        #expect(redirect.1.contains { $0.code == .spfAnyone && $0.subject == "r.test" }, "\(redirect.1)")
        let refusing = "d.test TXT \"v=spf1 include:_spf.esp.test -include:r.test -all\""
        let refused = try await path(Self.provider + refusing + behind, stating: includes)
        #expect(refused.0 == .ok && !refused.1.contains { $0.code == .spfAnyone }, "\(refused.1)")
        let late = "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\n"
        let after = Self.provider.replacing("::25 -all", with: "::25 -all +all")
        #expect(try await path(late + after, stating: includes).0 == .ok)
    }

    @Test(
        "terms that no evaluation reaches, and includes that let nobody send, are no addresses of a provider",
        arguments: [
            "_spf.esp.test TXT \"v=spf1 ip4:192.0.2.25 -all ip4:203.0.113.9 include:other.test\"",
            "_spf.esp.test TXT \"v=spf1 ip4:192.0.2.25 -include:other.test ~all\"",
            "_spf.esp.test TXT \"v=spf1 ip4:192.0.2.25 ?include:between.test ~all\"\nbetween.test TXT \"v=spf1 include:other.test -all\"",
        ]
    )
    func unreached(provider: String) async throws {
        let zone = "d.test TXT \"v=spf1 ip4:192.0.2.25 -all\"\nother.test TXT \"v=spf1 ip4:203.0.113.9 -all\"\n"
        let (verdict, findings) = try await path(zone + provider, stating: ["_spf.esp.test"])
        #expect(verdict == .ok, "\(findings)")
    }

    @Test("terms behind “all” cost no receiver a lookup")
    func termsBehindAll() async throws {
        let own = "d.test TXT \"v=spf1 include:_spf.esp.test -all \(Self.many)\"\n"
        let (verdict, findings) = try await path(Self.provider + own + Self.manyZone, stating: ["_spf.esp.test"])
        #expect(verdict == .ok && !findings.contains { $0.code == .spfTermsWorstCase }, "\(findings)")
    }
}
