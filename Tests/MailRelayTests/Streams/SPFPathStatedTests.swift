import Testing

@testable import MailRelay

@Suite("The SPF path of a stream whose includes were stated")
struct SPFPathStatedTests {
    /// Checks a stream whose provider is stated by these includes.
    private func path(_ zone: String, stating includes: [String]) async throws -> (PathVerdict, [Finding]) {
        let provider = try MailStream.Provider(includes: includes.map { try DomainName(dotted: $0) })
        let stream = MailStream(name: "t", fromDomain: try DomainName(dotted: "d.test"), provider: provider)
        return await SPFPathCheck(stream, try TestZone(zone).resolver).run(by: .now.advanced(by: .seconds(20)))
    }

    @Test("a policy that lets its own addresses send is not judged good for a provider that was not stated")
    func senderUnstated() async throws {
        let (verdict, findings) = try await path("d.test TXT \"v=spf1 ip4:192.0.2.25 -all\"", stating: [])
        #expect(verdict == .unknown)
        #expect(findings.first { $0.code == .spfSenderUnstated }?.severity == .unknown)
        // A policy that fails for every sender is broken, whichever provider sends.
        for policy in ["include:gone.test ip4:192.0.2.25 -all", "-all"] {
            #expect(try await path("d.test TXT \"v=spf1 \(policy)\"", stating: []).0 == .broken, "\(policy)")
        }
    }

    @Test(
        "a stated include that lists nothing is reported, and is not a fault of the stream's policy",
        arguments: [("", "is the name right?"), ("typo.test TXT \"v=spf1 -all\"", "lists no addresses")]
    )
    func emptyInclude(_ more: String, _ words: String) async throws {
        let zone = PublishedPolicies.provider + "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\n" + more
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
        // A refused range means lost mail, whatever another include would have listed.
        let another = zone.replacing("include:_spf.esp.test -all", with: "ip4:203.0.113.9 -all")
        #expect(try await path(another, stating: ["typo.test", "_spf.esp.test"]).0 == .broken)
    }

    @Test("senders that a provider permits unlisted are reported, unless the stream's policy leads to them as well")
    func openBesideListed() async throws {
        let provider =
            "\n_spf.esp.test TXT \"v=spf1 ip4:192.0.2.25 include:_more.esp.test ~all\""
            + "\n_more.esp.test TXT \"v=spf1 exists:%{i}.esp.test -all\""
        for (policy, isTold) in [
            ("ip4:192.0.2.25 -all", true), ("ip4:192.0.2.25 ?include:_spf.esp.test -all", true),
            ("include:_spf.esp.test -all", false), ("redirect=_spf.esp.test", false),
            ("ip4:192.0.2.25 include:_more.esp.test -all", false),
        ] {
            let zone = "d.test TXT \"v=spf1 \(policy)\"" + provider
            let (verdict, findings) = try await path(zone, stating: ["_spf.esp.test"])
            #expect(verdict == .ok, "\(policy) \(findings)")
            let finding = findings.first { $0.code == .spfCannotEnumerate }
            #expect(finding?.seen == (isTold ? ["exists:%{i}.esp.test"] : nil), "\(policy) \(findings)")
        }
    }

    @Test("an unreadable include leaves the verdict open, even if the addresses of the others seem to settle it")
    func unreadableInclude() async throws {
        let zone =
            PublishedPolicies.provider + "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\nslow.test TXT TIMEOUT"
        let (verdict, findings) = try await path(zone, stating: ["_spf.esp.test", "slow.test"])
        #expect(verdict == .unknown)
        #expect(findings.contains { $0.code == .spfUnknown && $0.subject == "slow.test" }, "\(findings)")
    }

    @Test("“+all” is found behind a redirect, and does not count behind an include that lets nobody send")
    func anyoneBelow() async throws {
        let behind = "\nr.test TXT \"v=spf1 +all\""
        let includes = ["_spf.esp.test"]
        let redirect = try await path(
            PublishedPolicies.provider + "d.test TXT \"v=spf1 redirect=r.test\"" + behind,
            stating: includes
        )
        #expect(redirect.0 == .weak)
        #expect(redirect.1.contains { $0.code == .spfAnyone && $0.subject == "r.test" }, "\(redirect.1)")
        let refusing = "d.test TXT \"v=spf1 include:_spf.esp.test -include:r.test -all\""
        let refused = try await path(PublishedPolicies.provider + refusing + behind, stating: includes)
        #expect(refused.0 == .ok && !refused.1.contains { $0.code == .spfAnyone }, "\(refused.1)")
        let late = "d.test TXT \"v=spf1 include:_spf.esp.test -all\"\n"
        let after = PublishedPolicies.provider.replacing("::25 -all", with: "::25 -all +all")
        #expect(try await path(late + after, stating: includes).0 == .ok)
    }

    @Test(
        "terms that no evaluation reaches, and includes that let nobody send, add no addresses to a provider",
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

    @Test("terms after “all” cost a receiver no lookups")
    func termsBehindAll() async throws {
        let own = "d.test TXT \"v=spf1 include:_spf.esp.test -all \(PublishedPolicies.many)\"\n"
        let (verdict, findings) = try await path(
            PublishedPolicies.provider + own + PublishedPolicies.manyZone,
            stating: ["_spf.esp.test"]
        )
        #expect(verdict == .ok && !findings.contains { $0.code == .spfTermsWorstCase }, "\(findings)")
    }

    @Test("a policy made to cost many lookups is not read to its end, and the lists in findings have a bounded length")
    func boundedLookups() async throws {
        let terms = (0..<60).map { "mx:m\($0).test" }.joined(separator: " ")
        let exchangers = (0..<60).flatMap { mx in (0..<10).map { "m\(mx).test MX 10 h\($0).m\(mx).test" } }
        let own = "d.test TXT \"v=spf1 include:_spf.esp.test \(terms) -all\"\n"
        let zone = PublishedPolicies.provider + own + exchangers.joined(separator: "\n")
        let asked = RecordingResolver(try TestZone(zone).resolver)
        let domain = try DomainName(dotted: "d.test")
        let tree = await SPFTreeReader(asked).read(domain, by: .now.advanced(by: .seconds(20)))
        #expect(tree.isCut)
        #expect(asked.answers.count <= 200, "\(asked.answers.count)")

        let (verdict, findings) = try await path(zone, stating: ["_spf.esp.test"])
        #expect(verdict == .ok)
        #expect(findings.contains { $0.code == .spfVoidsWorstCase } && findings.allSatisfy { $0.seen.count <= 21 })
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
}
