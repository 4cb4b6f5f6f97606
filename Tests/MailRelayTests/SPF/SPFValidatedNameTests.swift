import Testing

@testable import MailRelay

/// The macro `p`: a name of the client that reverse DNS gives and that resolves back to the client's address.
@Suite("SPF, validated names")
struct SPFValidatedNameTests {
    private func query() throws -> SPFQuery {
        let domain = try DomainName(dotted: "d.test")
        let address = try #require(IPv4Address("192.0.2.7").map { IPAddress.v4($0) })
        return SPFQuery(address: address, domain: domain, helo: domain)
    }

    private func evaluate(_ zone: String) async throws -> SPFEvaluation {
        let evaluator = SPFEvaluator(try TestZone(zone).resolver)
        return await evaluator.evaluate(try query(), by: .now.advanced(by: .seconds(20)))
    }

    @Test("a client without reverse DNS is “unknown”, and its missing name is one lookup that finds nothing")
    func noName() async throws {
        let result = try await evaluate(
            """
            d.test TXT "v=spf1 exists:%{p}.a.test exists:%{p}.b.test -all"
            unknown.b.test A 127.0.0.2
            """
        )
        #expect(result.result == .pass)
        // The lookup of the reverse name, and that of the first term.
        #expect(result.voids == 2)
    }

    @Test("the domain itself is preferred, then a name below it, then any that leads back")
    func preference() async throws {
        let pointers = ["other.test", "mail.d.test", "d.test"].map { "7.2.0.192.in-addr.arpa PTR \($0)\n" }.joined()
        let policy = "d.test TXT \"v=spf1 exists:%{p}.list.test -all\"\n"
        for (addresses, name) in [
            ("d.test A 192.0.2.7\nmail.d.test A 192.0.2.7\nother.test A 192.0.2.7\n", "d.test"),
            ("d.test A 192.0.2.9\nmail.d.test A 192.0.2.7\nother.test A 192.0.2.7\n", "mail.d.test"),
            ("d.test A 192.0.2.9\nmail.d.test A 192.0.2.9\nother.test A 192.0.2.7\n", "other.test"),
            ("d.test A 192.0.2.9\nmail.d.test A 192.0.2.9\nother.test A 192.0.2.9\n", "unknown"),
        ] {
            let result = try await evaluate(policy + pointers + addresses + "\(name).list.test A 127.0.0.2\n")
            #expect(result.result == .pass, "\(name): \(String(describing: result.problem))")
        }
    }

    @Test("an explanation uses up no void lookups: a fail stays a fail and is explained", arguments: [true, false])
    func explanation(hasName: Bool) async throws {
        let result = try await evaluate(
            """
            d.test TXT "v=spf1 a:x.test a:y.test -all exp=why.test"
            why.test TXT "%{p} may not send"
            \(hasName ? "7.2.0.192.in-addr.arpa PTR gone.test\n7.2.0.192.in-addr.arpa PTR other.test" : "")
            other.test A 192.0.2.7
            """
        )
        #expect(result.result == .fail && result.problem == nil)
        #expect(result.explanation == (hasName ? "other.test may not send" : "unknown may not send"))
        #expect(result.terms == 2 && result.voids == 2)
    }

    @Test("an escaped percent sign before a brace is not a macro, and no name of the client is looked up")
    func percentSign() async throws {
        let zone = try TestZone("d.test TXT \"v=spf1 -all exp=why.test\"\nwhy.test TXT \"100%%{p}\"")
        let distant = DistantResolver(zone.resolver)
        let result = await SPFEvaluator(distant).evaluate(try query(), by: .now.advanced(by: .seconds(20)))
        #expect(result.explanation == "100%{p}")
        #expect(!distant.asked.contains { $0.type == .ptr }, "\(distant.asked)")
    }
}
