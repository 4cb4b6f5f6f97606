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

@Suite("What is held of a stream")
struct StreamStandingTests {
    static func verdict(_ spf: PathVerdict, _ dkim: PathVerdict) -> StreamVerdict {
        StreamVerdict(spf: spf, dkim: dkim, envelopeRegistered: true, fromRegistered: true)
    }

    static let start = Date(timeIntervalSince1970: 1_000_000)

    @Test("a change needs two agreeing runs")
    func twoRuns() {
        var standing = StreamStanding()
        #expect(standing.observe(Self.verdict(.ok, .ok), at: Self.start) == nil)
        let first = standing.observe(Self.verdict(.ok, .ok), at: Self.start)
        #expect(first?.from == nil && first?.to.reachable == .yes)
        #expect(standing.observe(Self.verdict(.broken, .broken), at: Self.start) == nil)
        #expect(standing.observe(Self.verdict(.ok, .ok), at: Self.start) == nil)
        #expect(standing.observe(Self.verdict(.broken, .broken), at: Self.start) == nil)
        let change = standing.observe(Self.verdict(.broken, .broken), at: Self.start)
        #expect(change?.from?.spf == .ok && change?.to.reachable == .no)
        #expect(standing.observe(Self.verdict(.broken, .broken), at: Self.start) == nil)
    }

    @Test("unknown ages what is known and changes nothing, however often")
    func unknown() {
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        for hour in 1...5 {
            let later = Self.start.addingTimeInterval(Double(hour) * 3600)
            #expect(standing.observe(Self.verdict(.unknown, .unknown), at: later) == nil)
        }
        #expect(standing.known?.spf == .ok)
        #expect(standing.unknownSince == Self.start.addingTimeInterval(3600))
        #expect(standing.confirmedAt == Self.start)
        // One path answers: the other keeps what was known.
        let later = Self.start.addingTimeInterval(90_000)
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.unknown, .broken), at: later) }
        #expect(standing.known == StreamStanding.Known(spf: .ok, dkim: .broken, reachable: .yes))
        _ = standing.observe(Self.verdict(.ok, .broken), at: later)
        #expect(standing.unknownSince == nil)
    }

    @Test("a verdict ages that no run comes to any more, and is confirmed by one that comes to it in part")
    func confirmedByItsAnswer() {
        let later = Self.start.addingTimeInterval(90_000)
        var held = StreamStanding()
        for _ in 0..<2 { _ = held.observe(Self.verdict(.ok, .broken), at: Self.start) }
        // Nothing is stated of the SPF path any more: no run tells whether mail gets through.
        let open = StreamVerdict(
            spf: .unknown,
            dkim: .broken,
            envelopeRegistered: true,
            fromRegistered: true,
            isSilent: false
        )
        #expect(held.observe(open, at: later) == nil)
        #expect(held.confirmedAt == Self.start)

        // An old selector whose name server is gone for good: SPF alone lets the mail through.
        var partly = StreamStanding()
        for _ in 0..<2 { _ = partly.observe(Self.verdict(.ok, .ok), at: Self.start) }
        #expect(partly.observe(Self.verdict(.ok, .unknown), at: later) == nil)
        #expect(partly.confirmedAt == later && partly.unknownSince == later)
    }

    @Test("a time that a clock running ahead left behind is past by the next run")
    func clockAhead() {
        let ahead = Self.start.addingTimeInterval(365 * 86_400)
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: ahead) }
        _ = standing.observe(Self.verdict(.unknown, .unknown), at: ahead)
        _ = standing.observe(Self.verdict(.unknown, .unknown), at: Self.start)
        for time in [standing.confirmedAt, standing.changedAt, standing.unknownSince] { #expect(time == Self.start) }
    }

    @Test("silence neither confirms what one run saw nor withdraws it")
    func silenceAgreesWithNothing() {
        var new = StreamStanding()
        #expect(new.observe(Self.verdict(.broken, .broken), at: Self.start) == nil)
        #expect(new.observe(Self.verdict(.unknown, .unknown), at: Self.start) == nil)
        #expect(new.known == nil && new.confirmedAt == nil)
        #expect(new.observe(Self.verdict(.broken, .broken), at: Self.start)?.to.reachable == .no)

        // A path that breaks while DNS answers every other time.
        var held = StreamStanding()
        for _ in 0..<2 { _ = held.observe(Self.verdict(.ok, .ok), at: Self.start) }
        #expect(held.observe(Self.verdict(.broken, .ok), at: Self.start) == nil)
        #expect(held.observe(Self.verdict(.unknown, .ok), at: Self.start) == nil)
        #expect(held.known?.spf == .ok)
        #expect(held.observe(Self.verdict(.broken, .unknown), at: Self.start)?.to.spf == .broken)
        #expect(held.known == StreamStanding.Known(spf: .broken, dkim: .ok, reachable: .yes))
        // And heals just so.
        _ = held.observe(Self.verdict(.ok, .ok), at: Self.start)
        _ = held.observe(Self.verdict(.unknown, .unknown), at: Self.start)
        #expect(held.observe(Self.verdict(.ok, .unknown), at: Self.start)?.to.spf == .ok)
    }

    @Test("a path that is seen to be as before withdraws what waits, and another path's goes on waiting")
    func eachPathByItself() {
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        _ = standing.observe(Self.verdict(.broken, .broken), at: Self.start)
        #expect(standing.observe(Self.verdict(.ok, .broken), at: Self.start)?.to.dkim == .broken)
        #expect(standing.known?.spf == .ok && standing.pending == nil)
    }

    @Test("registration that changes also needs two runs")
    func registrationNeedsTwoRuns() {
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        let none = StreamVerdict(spf: .ok, dkim: .ok, envelopeRegistered: false, fromRegistered: false)
        #expect(standing.observe(none, at: Self.start) == nil)
        #expect(standing.observe(none, at: Self.start)?.to.reachable == .no)
    }

    @Test("a stream without selectors is confirmed and becomes stable: its DKIM path is not one on which DNS is silent")
    func withoutSelectors() async throws {
        let verdict = try await StreamTests.report { $0.selectors = [] }.verdict
        #expect(verdict.spf == .ok && verdict.dkim == .unknown && !verdict.isSilent)
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(verdict, at: Self.start) }
        #expect(standing.known == StreamStanding.Known(spf: .ok, dkim: .unknown, reachable: .yes))
        #expect(standing.unknownSince == nil)
        let later = Self.start.addingTimeInterval(10 * 86_400)
        #expect(standing.observe(verdict, at: later) == nil)
        #expect(standing.confirmedAt == later)
        #expect(standing.nextCheck(after: later, jitter: 0) == later.addingTimeInterval(86_400))
        let silent = try await StreamTests.report(StreamTests.healthy + "t._domainkey.app.test TXT TIMEOUT") { stream in
            stream.selectors = [MailStream.Selector("t")]
        }
        #expect(silent.verdict.dkim == .unknown && silent.verdict.isSilent)
    }

    @Test("another domain's signature is broken without any selector")
    func otherDomainWithoutSelectors() async throws {
        let report = try await StreamTests.report { stream in
            stream.selectors = []
            stream.signingDomain = StreamTests.name("esp.test")
        }
        #expect(report.verdict.dkim == .broken)
        #expect(report.findings.contains { $0.code == .dkimOtherDomain })
    }

    @Test("hourly in doubt and after a change, daily when stable, spread by a tenth")
    func schedule() {
        var standing = StreamStanding()
        #expect(standing.nextCheck(after: Self.start, jitter: 0) == Self.start.addingTimeInterval(3600))
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        #expect(standing.nextCheck(after: Self.start, jitter: 1) == Self.start.addingTimeInterval(3960))
        let nextDay = Self.start.addingTimeInterval(90_000)
        _ = standing.observe(Self.verdict(.ok, .ok), at: nextDay)
        #expect(standing.nextCheck(after: nextDay, jitter: -1) == nextDay.addingTimeInterval(77_760))
        _ = standing.observe(Self.verdict(.unknown, .ok), at: nextDay)
        #expect(standing.nextCheck(after: nextDay, jitter: 0) == nextDay.addingTimeInterval(3600))
    }
}

@Suite("What people type")
struct DomainInputTests {
    @Test(
        "things that are no domain, each with its own words",
        arguments: [
            ("", "a domain is wanted"), ("https://example.com/path", "a URL, a domain is wanted: example.com"),
            ("example.com/x", "a URL, a domain is wanted: example.com"),
            ("anna@example.com", "an e-mail address, a domain is wanted: example.com"),
            ("192.0.2.1", "an IP address"), ("[2001:db8::1]", "an IP address"), ("2001:db8::1", "an IP address"),
            ("bücher.example", "xn--"), ("example", "a single label"), ("a..b", "empty label"),
            (String(repeating: "a", count: 64) + ".test", "64 bytes"),
            ((0..<5).map { _ in String(repeating: "b", count: 63) }.joined(separator: "."), "255 is the most"),
            ("exa mple.com", "holds “ ”"), ("exam\u{0}ple.com", "holds"),
        ]
    )
    func wrong(text: String, words: String) {
        do {
            let name = try DomainInput.domain(text)
            Issue.record("taken for \(name)")
        } catch {
            #expect(error.description.contains(words), "\(error)")
        }
    }

    @Test("domains in their usual dress")
    func right() throws {
        #expect(try DomainInput.domain(" Example.COM. ").description == "example.com")
        #expect(try DomainInput.domain("xn--bcher-kva.example").description == "xn--bcher-kva.example")
    }

    @Test("selectors typed in full are cut back, those of another domain refused")
    func selectors() throws {
        let domain = try DomainName(dotted: "d.test")
        #expect(try DomainInput.selector("s1", domain: domain) == "s1")
        #expect(try DomainInput.selector("s1._domainkey", domain: domain) == "s1")
        #expect(try DomainInput.selector("S1._domainkey.D.test.", domain: domain) == "s1")
        #expect(try DomainInput.selector("a.b", domain: domain) == "a.b")
        #expect(throws: DomainInputError.self) { try DomainInput.selector("s1._domainkey.other.test", domain: domain) }
        #expect(throws: DomainInputError.self) { try DomainInput.selector("_domainkey.d.test", domain: domain) }
        #expect(throws: DomainInputError.self) { try DomainInput.selector("s 1", domain: domain) }
    }

    @Test("relay addresses: Apple's claim first, the domain second, icloud.com never")
    func relay() throws {
        let domains = try RelayDomains()
        #expect(domains.isRelay("x@PrivateRelay.AppleID.com", appleClaim: nil))
        #expect(domains.isRelay("x@private.icloud.com", appleClaim: nil))
        #expect(!domains.isRelay("x@icloud.com", appleClaim: nil))
        #expect(domains.isRelay("x@icloud.com", appleClaim: true))
        #expect(!domains.isRelay("x@privaterelay.appleid.com", appleClaim: false))
        #expect(!domains.isRelay("x@evil.privaterelay.appleid.com", appleClaim: nil))
        #expect(throws: DomainInputError.self) { try RelayDomains(["icloud.com"]) }
    }
}
