import Foundation
import Testing

@testable import MailRelay

@Suite("The recorded standing of a stream")
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

    @Test("any number of unknown results let the known verdict age, but do not change it")
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
        // Only one path answers: the other keeps its known verdict.
        let later = Self.start.addingTimeInterval(90_000)
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.unknown, .broken), at: later) }
        #expect(standing.known == StreamStanding.Known(spf: .ok, dkim: .broken, reachable: .yes))
        _ = standing.observe(Self.verdict(.ok, .broken), at: later)
        #expect(standing.unknownSince == nil)
    }

    @Test("a verdict that no run reaches any more ages, and a run that reaches part of it confirms it")
    func confirmedByItsAnswer() {
        let later = Self.start.addingTimeInterval(90_000)
        var held = StreamStanding()
        for _ in 0..<2 { _ = held.observe(Self.verdict(.ok, .broken), at: Self.start) }
        // The SPF path is not stated any more: no run can tell whether mail gets through.
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

    @Test("times recorded by a clock that ran ahead are corrected by the next run")
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

        // A path breaks while DNS answers only every other time.
        var held = StreamStanding()
        for _ in 0..<2 { _ = held.observe(Self.verdict(.ok, .ok), at: Self.start) }
        #expect(held.observe(Self.verdict(.broken, .ok), at: Self.start) == nil)
        #expect(held.observe(Self.verdict(.unknown, .ok), at: Self.start) == nil)
        #expect(held.known?.spf == .ok)
        #expect(held.observe(Self.verdict(.broken, .unknown), at: Self.start)?.to.spf == .broken)
        #expect(held.known == StreamStanding.Known(spf: .broken, dkim: .ok, reachable: .yes))
        // It recovers under the same conditions.
        _ = held.observe(Self.verdict(.ok, .ok), at: Self.start)
        _ = held.observe(Self.verdict(.unknown, .unknown), at: Self.start)
        #expect(held.observe(Self.verdict(.ok, .unknown), at: Self.start)?.to.spf == .ok)
    }

    @Test("a path seen unchanged cancels its pending change, and another path's change stays pending")
    func eachPathByItself() {
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        _ = standing.observe(Self.verdict(.broken, .broken), at: Self.start)
        #expect(standing.observe(Self.verdict(.ok, .broken), at: Self.start)?.to.dkim == .broken)
        #expect(standing.known?.spf == .ok && standing.pending == nil)
    }

    @Test("a change of registration also needs two runs")
    func registrationNeedsTwoRuns() {
        var standing = StreamStanding()
        for _ in 0..<2 { _ = standing.observe(Self.verdict(.ok, .ok), at: Self.start) }
        let none = StreamVerdict(spf: .ok, dkim: .ok, envelopeRegistered: false, fromRegistered: false)
        #expect(standing.observe(none, at: Self.start) == nil)
        #expect(standing.observe(none, at: Self.start)?.to.reachable == .no)
    }

    @Test("a stream without selectors is confirmed and becomes stable: its DKIM path does not count as DNS silence")
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

    @Test("runs are hourly in doubt and after a change, daily when stable, and spread by a tenth")
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
