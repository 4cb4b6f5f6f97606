import Foundation

/// The DNS of an imaginary sender, as text for ``ZoneServer``.
enum MailZone {
    /// A zone without faults: `news@shop.test`, sent by esp.test with the envelope domain send.shop.test.
    static let sound = """
        shop.test MX 10 in.shop.test
        shop.test TXT v=spf1 -all
        in.shop.test A 192.0.2.9
        send.shop.test TXT v=spf1 include:_spf.esp.test -all
        send.shop.test MX 10 bounce.esp.test
        bounce.esp.test A 192.0.2.8
        _spf.esp.test TXT v=spf1 ip4:192.0.2.25 ip6:2001:db8:25::25 -all
        _dmarc.shop.test TXT v=DMARC1; p=reject; rua=mailto:dmarc@shop.test
        s1._domainkey.shop.test CNAME s1.esp.test
        s1.esp.test TXT v=DKIM1; k=rsa; p=\(rsaKey)
        """

    /// The options that declare this sender, registered with Apple, to the program.
    static let options = [
        "--envelope", "send.shop.test", "--include", "_spf.esp.test", "--selector", "s1=s1.esp.test", "--registered",
        "shop.test", "--registered", "send.shop.test",
    ]

    /// The sound zone with parts of its lines replaced.
    static func changed(_ changes: (String, String)...) -> String {
        changes.reduce(sound) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
    }

    /// The value of a key record with 2048 bits: random on each run and only in the form of a key, with no private key.
    static let rsaKey: String = {
        var modulus = (0..<256).map { _ in UInt8.random(in: 0...255) }
        modulus[0] |= 0x80
        modulus[255] |= 1
        let numbers: [UInt8] = [0x02, 0x82, 0x01, 0x01, 0x00] + modulus + [0x02, 0x03, 0x01, 0x00, 0x01]
        let algorithm: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let bits: [UInt8] = [0x03, 0x82, 0x01, 0x0F, 0x00, 0x30, 0x82, 0x01, 0x0A] + numbers
        return Data([0x30, 0x82, 0x01, 0x22] + algorithm + bits).base64EncodedString()
    }()
}
