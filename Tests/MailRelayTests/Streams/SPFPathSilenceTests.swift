import Testing

@testable import MailRelay

@Suite("Unreadable parts of the SPF path of a stream")
struct SPFPathSilenceTests {
    /// Checks a stream of a provider whose include leads to further includes, as those of large providers do.
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

    @Test("the readable part of a provider's ranges passes, and the rest is reported")
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

    @Test("a finding says when not all ranges are tried or not all policies are read")
    func cut() async throws {
        let many = (0..<200).map { "ip4:10.0.\($0).0/24" }.joined(separator: " ")
        let (verdict, findings) = try await path(
            "d.test TXT \"v=spf1 ip4:10.0.0.0/8 -all\"\n_spf.esp.test TXT \"v=spf1 \(many) ~all\""
        )
        #expect(verdict == .ok)
        #expect(findings.first { $0.code == .checkCut }?.summary.contains("256 of 400") == true, "\(findings)")

        // Those that may not send come after as many as are tried.
        let single = (0..<300).map { "ip4:10.0.\($0 / 256).\($0 % 256)" }.joined(separator: " ")
        let (partly, told) = try await path(
            "d.test TXT \"v=spf1 ip4:10.0.0.0/24 -all\"\n_spf.esp.test TXT \"v=spf1 \(single) ~all\""
        )
        #expect(partly == .weak && told.contains { $0.code == .spfPartly }, "\(told)")
        #expect(told.first { $0.code == .checkCut }?.summary.contains("256 of 300") == true, "\(told)")

        let includes = (0..<80).map { "include:i\($0).test" }.joined(separator: " ")
        let policies = (0..<80).map { "i\($0).test TXT \"v=spf1 ip4:10.1.\($0).1 -all\"" }.joined(separator: "\n")
        let (_, wide) = try await path(
            "d.test TXT \"v=spf1 ip4:10.0.0.0/8 -all\"\n_spf.esp.test TXT \"v=spf1 \(includes) ~all\"\n" + policies
        )
        #expect(wide.contains { $0.code == .checkCut && $0.subject == "_spf.esp.test" }, "\(wide)")
    }

    @Test("when the time is up no more of a policy is read, and the unread rest counts as silence")
    func timeIsUp() async throws {
        let zone = PublishedPolicies.provider + "d.test TXT \"v=spf1 include:_spf.esp.test a:x.test -all\""
        let asked = RecordingResolver(try TestZone(zone).resolver)
        let tree = await SPFTreeReader(asked).read(try DomainName(dotted: "d.test"), by: .now)
        #expect(asked.answers.map(\.question.description) == ["d.test TXT"])
        #expect(tree.isCut && tree.gaps.map(\.outcome) == [.timeout])
    }
}
