import Foundation
import Testing

@testable import MailRelay

@Suite("Streams and the policy of their From domain")
struct StreamPolicyTests {
    /// Reports on the healthy stream without its key, with an envelope domain of the provider's organisation.
    private static func foreign(_ change: (String) -> String = { $0 }) async throws -> StreamReport {
        let zone =
            StreamTests.healthy.replacing("s._domainkey.app.test", with: "t._domainkey.app.test") + """
                ret.esp.test TXT "v=spf1 include:_spf.esp.test -all"
                ret.esp.test MX 10 bounce.esp.test

                """
        return try await StreamTests.report(change(zone)) { stream in
            stream.envelopeDomain = StreamTests.name("ret.esp.test")
            stream.registration = .names([StreamTests.name("app.test"), StreamTests.name("ret.esp.test")])
        }
    }

    @Test("mail that the From domain's own policy refuses does not get through, even if another domain's SPF passes")
    func refusedByPolicy() async throws {
        let refused = try await Self.foreign()
        #expect(refused.verdict.spf == .ok && refused.verdict.dkim == .broken)
        #expect(refused.verdict.reachable == .no && refused.conclusion == .broken)
        #expect(refused.findings.first { $0.code == .dmarcNotAligned }?.severity == .broken)
        #expect(!refused.findings.contains { $0.code == .dmarcSuffixList })

        // The policy was read: the silent names above it could only determine the organisational domains, and the From
        // and envelope domains share none.
        let silentAbove = try await Self.foreign { $0 + "_dmarc.test TXT TIMEOUT" }
        #expect(silentAbove.verdict.reachable == .no && silentAbove.conclusion == .broken)
        #expect(!silentAbove.findings.contains { $0.code == .dmarcUnknown })

        let quarantined = try await Self.foreign { $0.replacing("p=reject", with: "p=quarantine") }
        #expect(quarantined.verdict.reachable == .yes)
        #expect(quarantined.findings.first { $0.code == .dmarcNotAligned }?.severity == .weak)

        // A policy in test mode (t=y) counts as the next milder policy.
        let tried = try await Self.foreign { $0.replacing("p=reject", with: "t=y; p=reject") }
        #expect(tried.verdict.reachable == .yes)
        #expect(tried.findings.first { $0.code == .dmarcNotAligned }?.summary.contains("“quarantine”") == true)
        let mildest = try await Self.foreign { $0.replacing("p=reject", with: "t=y; p=quarantine") }
        #expect(mildest.verdict.reachable == .yes && !mildest.findings.contains { $0.code == .dmarcNotAligned })

        // A key that could not be read may be valid.
        let open = try await Self.foreign { $0 + "s._domainkey.app.test TXT TIMEOUT" }
        #expect(open.verdict.reachable == .yes && !open.findings.contains { $0.code == .dmarcNotAligned })
    }

    @Test("a signature of the From domain's organisation counts for DMARC, though not for the relay")
    func organisationSigns() async throws {
        func foreign(_ alignment: String, and more: String = "") async throws -> StreamReport {
            let zone =
                StreamTests.healthy.replacing("p=reject", with: "p=reject; adkim=\(alignment)") + """
                    news.app.test MX 10 mx.app.test
                    ret.esp.test TXT "v=spf1 include:_spf.esp.test -all"
                    ret.esp.test MX 10 bounce.esp.test
                    """
            return try await StreamTests.report(zone + more) { stream in
                stream.fromDomain = StreamTests.name("news.app.test")
                stream.signingDomain = StreamTests.name("app.test")
                stream.envelopeDomain = StreamTests.name("ret.esp.test")
                stream.registration = .names([StreamTests.name("news.app.test"), StreamTests.name("ret.esp.test")])
            }
        }
        let relaxed = try await foreign("r")
        #expect(relaxed.verdict.dkim == .broken && relaxed.verdict.reachable == .yes)
        #expect(!relaxed.findings.contains { $0.code == .dmarcNotAligned }, "\(relaxed.findings)")
        #expect(try await foreign("s").verdict.reachable == .no)

        // The organisational domain cannot be determined: it may be the same.
        let own = "\n_dmarc.news.app.test TXT \"v=DMARC1; p=reject\"\n_dmarc.test TXT TIMEOUT"
        let unknown = try await foreign("r", and: own)
        #expect(unknown.verdict.reachable == .yes)
        #expect(unknown.findings.first { $0.code == .dmarcUnknown }?.subject == "test", "\(unknown.findings)")
    }

    @Test("paths that belong to the From domain by the old suffix list alone do not count, and that is told of")
    func suffixList() async throws {
        func own(_ alignment: String) async throws -> StreamReport {
            let zone = StreamTests.healthy.replacing("_dmarc.app.test", with: "_dmarc.news.app.test")
                .replacing("p=reject", with: "p=reject; aspf=\(alignment); adkim=\(alignment)")
            return try await StreamTests.report(zone + "news.app.test MX 10 mx.app.test") { stream in
                stream.fromDomain = StreamTests.name("news.app.test")
                stream.signingDomain = StreamTests.name("app.test")
                stream.registration = .names([StreamTests.name("news.app.test"), StreamTests.name("send.app.test")])
            }
        }
        let relaxed = try await own("r")
        #expect(relaxed.verdict.reachable == .no)
        #expect(relaxed.findings.contains { $0.code == .dmarcNotAligned }, "\(relaxed.findings)")
        #expect(relaxed.findings.contains { $0.code == .dmarcSuffixList }, "\(relaxed.findings)")
        let strict = try await own("s")
        #expect(strict.verdict.reachable == .no)
        #expect(!strict.findings.contains { $0.code == .dmarcSuffixList }, "\(strict.findings)")
    }

    @Test("mail that a policy has refused stays refused while DNS does not answer for the policy")
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
}
