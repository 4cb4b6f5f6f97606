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

    @Test("a healthy stream has no findings")
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

    @Test("no signature makes up for an envelope domain that does not exist; DNS silence about it changes nothing")
    func envelopeMissing() async throws {
        let zone = Self.healthy.split(separator: "\n").filter { !$0.hasPrefix("send.app.test") }.joined(separator: "\n")
        let gone = try await Self.report(zone)
        #expect(gone.verdict.spf == .broken && gone.verdict.dkim == .ok)
        #expect(gone.verdict.reachable == .no && gone.conclusion == .broken)
        #expect(gone.findings.contains { $0.code == .nameMissing })
        let silent = try await Self.report(zone + "\nsend.app.test * SERVFAIL")
        #expect(silent.verdict.reachable == .yes)

        // Silence afterwards withdraws neither answer.
        for (first, held) in [(try await Self.report().verdict, Reachability.yes), (gone.verdict, .no)] {
            var standing = StreamStanding()
            for _ in 0..<2 { _ = standing.observe(first, at: StreamStandingTests.start) }
            for _ in 0..<3 { #expect(standing.observe(silent.verdict, at: StreamStandingTests.start) == nil) }
            #expect(standing.known?.reachable == held)
        }
    }

    @Test("an envelope domain without a mail exchanger and an address can still send")
    func envelopeWithoutMail() async throws {
        let zone = Self.healthy.replacing("send.app.test MX 10 bounce.esp.test\n", with: "")
        let report = try await Self.report(zone)
        #expect(report.verdict.reachable == .yes && report.findings.map(\.code) == [.mxNone])
    }

    @Test("a key in test mode (t=y) proves nothing, and does not count as DNS silence")
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

    @Test("a stream without a stated sender is reachable by its signature; without a signature that is unknown")
    func nobodySaidWhoSends() async throws {
        let signed = try await Self.report { $0.provider = MailStream.Provider() }
        #expect(signed.verdict.spf == .unknown && !signed.verdict.isSilent && signed.verdict.reachable == .yes)
        let zone = Self.healthy.replacing("s._domainkey.app.test", with: "t._domainkey.app.test")
        let unsigned = try await Self.report(zone) { $0.provider = MailStream.Provider() }
        #expect(unsigned.verdict.reachable == .unknown && unsigned.conclusion == .unknown)
    }

    @Test("invalid signatures of a zone are reported as such, once for each name")
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

    @Test("a silent name server cannot hold up a check")
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
