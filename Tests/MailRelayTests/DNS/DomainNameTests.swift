import MailRelay
import Testing

@Suite("Domain names")
struct DomainNameTests {
    @Test("case does not matter, labels do")
    func equality() throws {
        #expect(try DomainName(dotted: "ExAmple.COM.") == DomainName(dotted: "example.com"))
        let name = try DomainName(dotted: "a.b.example.com")
        #expect(name.labelCount == 4)
        #expect(name.isWithin(try DomainName(dotted: "example.com")))
        #expect(name.isWithin(name))
        #expect(!(try DomainName(dotted: "badexample.com")).isWithin(try DomainName(dotted: "example.com")))
        #expect(name.suffix(labels: 2).description == "example.com")
        #expect(name.parent?.parent?.description == "example.com")
    }

    @Test("a label equal to another's length byte is not mistaken for a boundary")
    func boundaries() throws {
        // "\u{3}com" as one label ends in the same bytes as the name "com".
        let tricky = try DomainName(labels: [[0x61, 3] + Array("com".utf8)])
        #expect(!tricky.isWithin(try DomainName(dotted: "com")))
    }

    @Test(
        "text that is not a domain name is refused with the reason",
        arguments: [
            ("", DomainNameError.empty), (".", .empty), ("a..b", .emptyLabel), (".a", .emptyLabel),
            (String(repeating: "a", count: 64) + ".test", .labelTooLong(64)),
            (Array(repeating: String(repeating: "b", count: 63), count: 4).joined(separator: "."), .nameTooLong(257)),
        ]
    )
    func errors(text: String, expected: DomainNameError) {
        #expect(throws: expected) { try DomainName(dotted: text) }
    }

    @Test("dots inside labels and odd bytes are shown escaped")
    func escapes() throws {
        #expect(try DomainName(labels: [Array("a.b".utf8), [0, 0xFF, 0x5C]]).description == "a\\.b.\\000\\255\\\\")
    }

    @Test("reverse names of both families")
    func reverse() throws {
        #expect(try IPAddress("192.0.2.25")?.reverseName.description == "25.2.0.192.in-addr.arpa")
        #expect(
            try IPAddress("2001:db8::1")?.reverseName.description
                == "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
        )
    }

    @Test("names are the same when all their bytes are, wherever one differs")
    func everyByte() throws {
        for length in 1...40 {
            let label = [UInt8](repeating: UInt8(ascii: "a"), count: length)
            let name = try DomainName(labels: [label])
            #expect(try name == DomainName(labels: [label]))
            for position in 0..<length {
                var other = label
                other[position] = UInt8(ascii: "b")
                #expect(try name != DomainName(labels: [other]), "\(length) bytes, another one at \(position)")
            }
            #expect(try name != DomainName(labels: [label + [UInt8(ascii: "a")]]))
        }
    }
}

@Suite("Addresses")
struct AddressTests {
    @Test(
        "texts that are addresses",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
            ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("::ffff:1.2.3.4", "1.2.3.4"), ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("1:0:0:4:5:6:7:8", "1::4:5:6:7:8"),
        ]
    )
    func good(text: String, shown: String) {
        #expect(IPAddress(text)?.description == shown)
    }

    @Test(
        "texts that are not addresses",
        arguments: [
            "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.4 ", "1..2.3", ":", ":::", "1::2::3",
            "1:2:3:4:5:6:7", "12345::",
            "1:2:3:4:5:6:7:8:9", "::1.2.3", "fe80::1%eth0", "1:2:3:4:5:6:7:8::", "::1:", "g::", "1:2:3:4:5:6:7:1.2.3.4",
        ]
    )
    func bad(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("ranges, at their ends and beside them")
    func ranges() throws {
        let network = IPNetwork.v4(try #require(IPv4Address("192.0.2.77")), length: 28)
        #expect("\(network.first) \(network.last)" == "192.0.2.64 192.0.2.79")
        #expect(network.contains(.v4(try #require(IPv4Address("192.0.2.79")))))
        #expect(!network.contains(.v4(try #require(IPv4Address("192.0.2.80")))))
        let six = IPNetwork.v6(try #require(IPv6Address("2001:db8::77")), length: 65)
        #expect("\(six.first) \(six.last)" == "2001:db8:: 2001:db8::7fff:ffff:ffff:ffff")
        let everything = IPNetwork.v6(try #require(IPv6Address("::")), length: 0)
        #expect(everything.contains(.v6(try #require(IPv6Address("ffff::")))))
        #expect(!everything.contains(.v4(IPv4Address(rawValue: 1))))
        #expect(!IPNetwork.v4(IPv4Address(rawValue: 9), length: 32).contains(.v4(IPv4Address(rawValue: 8))))
    }
}
