import Testing

@testable import MailRelay

/// Policies as people publish them, for a provider that sends from 192.0.2.25 and 2001:db8:25::25.
enum PublishedPolicies {
    /// A published zone, and the expected result of a check of it.
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
        Case("all of IPv4", .weak, [.spfAnyone], #"d.test TXT "v=spf1 include:_spf.esp.test ip4:0.0.0.0/0 -all""#),
        Case("all of IPv6", .weak, [.spfAnyone], #"d.test TXT "v=spf1 include:_spf.esp.test ip6:::/0 -all""#),
        Case("all by an address", .weak, [.spfAnyone], #"d.test TXT "v=spf1 include:_spf.esp.test a:esp.test/0 -all""#),
        Case("all by an exchanger", .weak, [.spfAnyone], #"d.test TXT "v=spf1 include:_spf.esp.test mx//0 -all""#),
        Case("nobody by an address", .ok, [], #"d.test TXT "v=spf1 include:_spf.esp.test a:gone.test/0 -all""#),
        Case("no IPv4", .ok, [], #"d.test TXT "v=spf1 include:_spf.esp.test -ip4:0.0.0.0/0 -all""#),
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
}
