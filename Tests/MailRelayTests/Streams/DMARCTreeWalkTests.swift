import Testing

@testable import MailRelay

@Suite("Where the policy of a domain is found")
struct DMARCTreeWalkTests {
    @Test("the tree walk finds organisations by psd, by depth, and with at most eight questions")
    func treeWalk() async throws {
        func walk(_ start: String, _ zone: String) async throws -> DMARCTreeWalk {
            await DMARCTreeWalk(
                from: StreamTests.name(start),
                asking: try TestZone(zone).resolver,
                by: .now.advanced(by: .seconds(9))
            )
        }
        let plain = try await walk(
            "a.b.example.test",
            "_dmarc.example.test TXT \"v=DMARC1; p=none\"\n_dmarc.b.example.test TXT \"v=DMARC1; p=reject\""
        )
        #expect(plain.organizationalDomain == StreamTests.name("example.test"))
        #expect(plain.governing?.domain == StreamTests.name("example.test"))
        let cut = try await walk(
            "a.b.example.test",
            "_dmarc.example.test TXT \"v=DMARC1; p=none\"\n_dmarc.b.example.test TXT \"v=DMARC1; p=reject; psd=n\""
        )
        #expect(cut.organizationalDomain == StreamTests.name("b.example.test"))
        let suffix = try await walk("a.shop.co.test", "_dmarc.co.test TXT \"v=DMARC1; p=reject; psd=y\"")
        #expect(suffix.organizationalDomain == StreamTests.name("shop.co.test"))
        #expect(suffix.governing?.domain == StreamTests.name("co.test"))
        let none = try await walk("a.shop.test", "x.test A 192.0.2.1")
        #expect(none.organizationalDomain == StreamTests.name("a.shop.test") && none.governing == nil)
        let deep = DMARCTreeWalk.names(above: StreamTests.name("a.b.c.d.e.f.g.h.i.j.example.test"))
        #expect(deep.count == 8 && deep[1].labelCount == 7)
    }
}
