import Testing

@testable import MailRelay

@Suite("Domains, selectors and keys as people type them")
struct DomainInputTests {
    @Test(
        "input that is not a domain is refused, each kind with its own message",
        arguments: [
            ("", "expected a domain"), ("https://example.com/path", "a URL, expected a domain: example.com"),
            ("example.com/x", "a URL, expected a domain: example.com"),
            ("anna@example.com", "an e-mail address, expected a domain: example.com"),
            ("192.0.2.1", "an IP address"), ("[2001:db8::1]", "an IP address"), ("2001:db8::1", "an IP address"),
            ("bücher.example", "xn--"), ("example", "a single label"), ("a..b", "empty label"),
            (String(repeating: "a", count: 64) + ".test", "64 bytes"),
            ((0..<5).map { _ in String(repeating: "b", count: 63) }.joined(separator: "."), "at most 255 are allowed"),
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

    @Test("domains in the usual spellings")
    func right() throws {
        #expect(try DomainInput.domain(" Example.COM. ").description == "example.com")
        #expect(try DomainInput.domain("xn--bcher-kva.example").description == "xn--bcher-kva.example")
    }

    @Test("selectors typed as full names are shortened, and those of another domain are refused")
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

    @Test("white space in a key is removed, and text that is not a key is refused: publishing it would revoke the key")
    func keys() throws {
        let key = MadeUpKeys.rsa2048
        let folded = key.prefix(64) + " \t" + key.dropFirst(64)
        #expect(try DomainInput.key(String(folded)) == key)
        #expect(try DomainInput.key(MadeUpKeys.ed25519) == MadeUpKeys.ed25519)
        for text in ["", " ", "AAAA", String(key.dropLast(9)), "\"\(key)\"", "v=DKIM1; p=\(key)"] {
            #expect(throws: DomainInputError.self, "\(text)") { try DomainInput.key(text) }
        }
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
