import Foundation
import Testing

@testable import MailRelay

@Suite("Streams as a whole")
struct StreamTests {
    static func name(_ text: String) -> DomainName { (try? DomainName(dotted: text)) ?? .root }

    static let healthy = """
        app.test TXT "unrelated"
        app.test MX 10 mx.app.test
        mx.app.test A 192.0.2.9
        send.app.test TXT "v=spf1 include:_spf.esp.test -all"
        send.app.test MX 10 bounce.esp.test
        bounce.esp.test A 192.0.2.8
        _spf.esp.test TXT "v=spf1 ip4:192.0.2.25 ip6:2001:db8:25::25 -all"
        _dmarc.app.test TXT "v=DMARC1; p=reject; rua=mailto:d@app.test"
        s._domainkey.app.test TXT \(MadeUpKeys.quoted("v=DKIM1; p=\(MadeUpKeys.rsa2048)"))

        """

    static var stream: MailStream {
        MailStream(
            name: "news",
            fromDomain: name("app.test"),
            envelopeDomain: name("send.app.test"),
            provider: MailStream.Provider(includes: [name("_spf.esp.test")]),
            selectors: [MailStream.Selector("s")],
            registration: .names([name("app.test"), name("send.app.test")])
        )
    }

    static func report(_ zone: String = healthy, _ change: (inout MailStream) -> Void = { _ in }) async throws
        -> StreamReport
    {
        var stream = stream
        change(&stream)
        return await StreamChecker(try TestZone(zone).resolver).check(stream, by: .now.advanced(by: .seconds(30)))
    }

    @Test("a sound stream has nothing to be said about it")
    func healthy() async throws {
        let report = try await Self.report()
        #expect(report.findings == [])
        #expect(report.verdict.isRobust && report.conclusion == .ok)
        #expect(report.answers.contains { $0.question.description == "send.app.test TXT" })
    }

    @Test("registration decides which path counts")
    func registration() async throws {
        let onlyFrom = try await Self.report { $0.registration = .names([Self.name("app.test")]) }
        #expect(onlyFrom.conclusion == .advice && onlyFrom.verdict.reachable == .yes && !onlyFrom.verdict.isRobust)
        #expect(onlyFrom.findings.map(\.code) == [.appleNotRegistered])
        let neither = try await Self.report { $0.registration = .names([Self.name("other.test")]) }
        #expect(neither.conclusion == .broken)
        // A parent's registration is not inherited.
        let parent = try await Self.report { stream in
            stream.registration = .names([Self.name("test")])
        }
        #expect(parent.verdict.reachable == .no)
        let unstated = try await Self.report { $0.registration = .notStated }
        #expect(unstated.conclusion == .advice && unstated.findings.map(\.code) == [.appleNotStated])
    }

    @Test("no signature helps an envelope domain that does not exist; one of which DNS is silent changes nothing")
    func envelopeMissing() async throws {
        let zone = Self.healthy.split(separator: "\n").filter { !$0.hasPrefix("send.app.test") }.joined(separator: "\n")
        let gone = try await Self.report(zone)
        #expect(gone.verdict.spf == .broken && gone.verdict.dkim == .ok)
        #expect(gone.verdict.reachable == .no && gone.conclusion == .broken)
        #expect(gone.findings.contains { $0.code == .nameMissing })
        let silent = try await Self.report(zone + "\nsend.app.test * SERVFAIL")
        #expect(silent.verdict.reachable == .yes)

        // Silence afterwards takes back neither answer.
        for (first, held) in [(try await Self.report().verdict, Reachability.yes), (gone.verdict, .no)] {
            var standing = StreamStanding()
            for _ in 0..<2 { _ = standing.observe(first, at: StreamStandingTests.start) }
            for _ in 0..<3 { #expect(standing.observe(silent.verdict, at: StreamStandingTests.start) == nil) }
            #expect(standing.known?.reachable == held)
        }
    }

    @Test("an envelope domain without an exchanger and an address sends all the same")
    func envelopeWithoutMail() async throws {
        let zone = Self.healthy.replacing("send.app.test MX 10 bounce.esp.test\n", with: "")
        let report = try await Self.report(zone)
        #expect(report.verdict.reachable == .yes && report.findings.map(\.code) == [.mxNone])
    }

    @Test("a key on trial proves nothing, and is no silence of DNS")
    func keyOnTrial() async throws {
        let zone = Self.healthy.replacing("v=DKIM1; p=", with: "v=DKIM1; t=y; p=")
        let beside = try await Self.report(zone)
        #expect(beside.verdict.reachable == .yes && beside.verdict.dkim == .unknown && !beside.verdict.isSilent)
        let alone = try await Self.report(zone.replacing("ip4:192.0.2.25 ip6:2001:db8:25::25", with: ""))
        #expect(alone.verdict.spf == .broken && alone.verdict.reachable == .unknown && !alone.verdict.isSilent)
        #expect(alone.findings.contains { $0.code == .dkimTesting && $0.severity == .unknown })
    }

    @Test("one path broken is advice, both broken is broken, doubt is unknown")
    func paths() async throws {
        let noKey = Self.healthy.replacing("s._domainkey.app.test", with: "t._domainkey.app.test")
        let one = try await Self.report(noKey)
        #expect(one.verdict.dkim == .broken && one.conclusion == .advice)
        let both = try await Self.report(noKey.replacing("send.app.test TXT", with: "none.app.test TXT"))
        #expect(both.conclusion == .broken)
        #expect(both.findings.contains { $0.code == .dmarcNotAligned })
        let doubt = try await Self.report(
            noKey.replacing("include:_spf.esp.test", with: "include:slow.test") + "slow.test * TIMEOUT"
        )
        #expect(doubt.verdict.spf == .unknown && doubt.conclusion == .unknown)
    }

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
        let zone = Self.healthy.split(separator: "\n").filter { !$0.hasPrefix("_dmarc") }.joined(separator: "\n")
        let report = try await Self.report(zone + "\n" + record)
        #expect(Set(report.findings.map(\.code)) == codes, "\(report.findings)")
    }

    @Test("what is skipped in a DMARC record is named, and the rest of it counts")
    func dmarcSkipped() async throws {
        let zone = Self.healthy.replacing("v=DMARC1; p=reject", with: "v=DMARC1; p=quarantine; rubbish; p=none;;")
        let report = try await Self.report(zone)
        let finding = try #require(report.findings.first { $0.code == .dmarcSkipped })
        #expect(finding.summary.contains("“rubbish”") && finding.summary.contains("“p”"), "\(finding.summary)")
        #expect(finding.severity == .advice)
    }

    /// The healthy stream without its key, with an envelope domain of the provider's organisation.
    private static func foreign(_ change: (String) -> String = { $0 }) async throws -> StreamReport {
        let zone =
            healthy.replacing("s._domainkey.app.test", with: "t._domainkey.app.test") + """
                ret.esp.test TXT "v=spf1 include:_spf.esp.test -all"
                ret.esp.test MX 10 bounce.esp.test

                """
        return try await report(change(zone)) { stream in
            stream.envelopeDomain = name("ret.esp.test")
            stream.registration = .names([name("app.test"), name("ret.esp.test")])
        }
    }

    @Test("mail that the From domain's own policy has refused does not get through, though another's SPF passes")
    func refusedByPolicy() async throws {
        let refused = try await Self.foreign()
        #expect(refused.verdict.spf == .ok && refused.verdict.dkim == .broken)
        #expect(refused.verdict.reachable == .no && refused.conclusion == .broken)
        #expect(refused.findings.first { $0.code == .dmarcNotAligned }?.severity == .broken)

        // The policy was read: what does not answer above it could only tell of organisations, and these have no domain
        // in common.
        let silentAbove = try await Self.foreign { $0 + "_dmarc.test TXT TIMEOUT" }
        #expect(silentAbove.verdict.reachable == .no && silentAbove.conclusion == .broken)
        #expect(!silentAbove.findings.contains { $0.code == .dmarcUnknown })

        let quarantined = try await Self.foreign { $0.replacing("p=reject", with: "p=quarantine") }
        #expect(quarantined.verdict.reachable == .yes)
        #expect(quarantined.findings.first { $0.code == .dmarcNotAligned }?.severity == .weak)

        // Being tried out, a policy counts as the next milder one.
        let tried = try await Self.foreign { $0.replacing("p=reject", with: "t=y; p=reject") }
        #expect(tried.verdict.reachable == .yes)
        #expect(tried.findings.first { $0.code == .dmarcNotAligned }?.summary.contains("“quarantine”") == true)
        let mildest = try await Self.foreign { $0.replacing("p=reject", with: "t=y; p=quarantine") }
        #expect(mildest.verdict.reachable == .yes && !mildest.findings.contains { $0.code == .dmarcNotAligned })

        // A key that could not be read may be good.
        let open = try await Self.foreign { $0 + "s._domainkey.app.test TXT TIMEOUT" }
        #expect(open.verdict.reachable == .yes && !open.findings.contains { $0.code == .dmarcNotAligned })
    }

    @Test("a signature of the From domain's organisation counts for DMARC, though not for the relay")
    func organisationSigns() async throws {
        func foreign(_ alignment: String, and more: String = "") async throws -> StreamReport {
            let zone =
                Self.healthy.replacing("p=reject", with: "p=reject; adkim=\(alignment)") + """
                    news.app.test MX 10 mx.app.test
                    ret.esp.test TXT "v=spf1 include:_spf.esp.test -all"
                    ret.esp.test MX 10 bounce.esp.test
                    """
            return try await Self.report(zone + more) { stream in
                stream.fromDomain = Self.name("news.app.test")
                stream.signingDomain = Self.name("app.test")
                stream.envelopeDomain = Self.name("ret.esp.test")
                stream.registration = .names([Self.name("news.app.test"), Self.name("ret.esp.test")])
            }
        }
        let relaxed = try await foreign("r")
        #expect(relaxed.verdict.dkim == .broken && relaxed.verdict.reachable == .yes)
        #expect(!relaxed.findings.contains { $0.code == .dmarcNotAligned }, "\(relaxed.findings)")
        #expect(try await foreign("s").verdict.reachable == .no)

        // Whose organisation it is cannot be told: it may be the same.
        let own = "\n_dmarc.news.app.test TXT \"v=DMARC1; p=reject\"\n_dmarc.test TXT TIMEOUT"
        let unknown = try await foreign("r", and: own)
        #expect(unknown.verdict.reachable == .yes)
        #expect(unknown.findings.first { $0.code == .dmarcUnknown }?.subject == "test", "\(unknown.findings)")
    }

    @Test("what a policy has refused stays so while DNS does not tell of the policy")
    func refusedAndSilent() async throws {
        let refused = try await Self.foreign().verdict
        let silent = try await Self.foreign { zone in
            zone.split(separator: "\n").filter { !$0.hasPrefix("_dmarc") }.joined(separator: "\n")
                + "\n_dmarc.app.test TXT TIMEOUT"
        }.verdict
        let start = StreamStandingTests.start
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(refused, at: start) }
        #expect(standing.known == StreamStanding.Known(spf: .ok, dkim: .broken, reachable: .no))
        for _ in 0..<3 { #expect(standing.observe(silent, at: start.addingTimeInterval(3600)) == nil) }
        #expect(standing.known?.reachable == .no && standing.confirmedAt == start)
        let tolerant = try await Self.foreign { $0.replacing("p=reject", with: "p=none") }.verdict
        #expect(standing.observe(tolerant, at: start) == nil)
        #expect(standing.observe(tolerant, at: start)?.to.reachable == .yes)
    }

    @Test("a stream of which nobody said who sends is reached by its signature, and else it cannot be told")
    func nobodySaidWhoSends() async throws {
        let signed = try await Self.report { $0.provider = MailStream.Provider() }
        #expect(signed.verdict.spf == .unknown && !signed.verdict.isSilent && signed.verdict.reachable == .yes)
        let zone = Self.healthy.replacing("s._domainkey.app.test", with: "t._domainkey.app.test")
        let unsigned = try await Self.report(zone) { $0.provider = MailStream.Provider() }
        #expect(unsigned.verdict.reachable == .unknown && unsigned.conclusion == .unknown)
    }

    @Test("wrong signatures of a zone are told as such, once for each name")
    func bogus() async throws {
        let zone = Self.healthy.split(separator: "\n").filter { !$0.hasPrefix("send.app.test TXT") }.joined(
            separator: "\n"
        )
        let report = try await Self.report(zone + "\nsend.app.test TXT BOGUS")
        #expect(report.verdict.spf == .unknown && report.verdict.isSilent)
        let bogus = report.findings.filter { $0.code == .dnsBogus }
        #expect(bogus.map(\.subject) == ["send.app.test"])
        #expect(FindingCode.dnsBogus.explanation.contains("DNSSEC"))
    }

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
        let zone = Self.healthy.split(separator: "\n").filter { !$0.hasPrefix("send.app.test MX") }.joined(
            separator: "\n"
        )
        let report = try await Self.report(zone + "\n" + record)
        #expect(Set(report.findings.map(\.code)) == codes, "\(report.findings)")
        #expect(report.verdict.reachable == .yes)
    }

    @Test("the tree walk finds organisations by psd, by depth, and with at most eight questions")
    func treeWalk() async throws {
        func walk(_ start: String, _ zone: String) async throws -> DMARCTreeWalk {
            await DMARCTreeWalk(
                from: Self.name(start),
                asking: try TestZone(zone).resolver,
                by: .now.advanced(by: .seconds(9))
            )
        }
        let plain = try await walk(
            "a.b.example.test",
            "_dmarc.example.test TXT \"v=DMARC1; p=none\"\n_dmarc.b.example.test TXT \"v=DMARC1; p=reject\""
        )
        #expect(plain.organizationalDomain == Self.name("example.test"))
        #expect(plain.governing?.domain == Self.name("example.test"))
        let cut = try await walk(
            "a.b.example.test",
            "_dmarc.example.test TXT \"v=DMARC1; p=none\"\n_dmarc.b.example.test TXT \"v=DMARC1; p=reject; psd=n\""
        )
        #expect(cut.organizationalDomain == Self.name("b.example.test"))
        let suffix = try await walk("a.shop.co.test", "_dmarc.co.test TXT \"v=DMARC1; p=reject; psd=y\"")
        #expect(suffix.organizationalDomain == Self.name("shop.co.test"))
        #expect(suffix.governing?.domain == Self.name("co.test"))
        let none = try await walk("a.shop.test", "x.test A 192.0.2.1")
        #expect(none.organizationalDomain == Self.name("a.shop.test") && none.governing == nil)
        let deep = DMARCTreeWalk.names(above: Self.name("a.b.c.d.e.f.g.h.i.j.example.test"))
        #expect(deep.count == 8 && deep[1].labelCount == 7)
    }

    @Test("a silent name server cannot hold a check up")
    func bounded() async throws {
        struct Silent: Resolver {
            func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
                try? await ContinuousClock().sleep(until: deadline)
                return .timeout
            }
        }
        let start = ContinuousClock.now
        let report = await StreamChecker(Silent()).check(Self.stream, by: start.advanced(by: .milliseconds(300)))
        // Without the deadline each of some fifteen lookups would wait; the margin is for a busy machine.
        #expect(.now - start < .seconds(30))
        #expect(report.conclusion == .unknown)
        #expect(report.verdict.spf == .unknown && report.verdict.dkim == .unknown)
    }
}
