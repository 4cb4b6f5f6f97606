/// An address of either family.
package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// Of the older family.
    case v4(IPv4Address)
    /// Of the newer family.
    case v6(IPv6Address)

    /// Reads an address; nil for anything else.
    ///
    /// An IPv4 address mapped into IPv6 is taken for what it is (RFC 7208, 5).
    package init?(_ text: String) {
        if let address = IPv4Address(text) {
            self = .v4(address)
        } else if let address = IPv6Address(text) {
            self = address.mappedIPv4.map { .v4($0) } ?? .v6(address)
        } else {
            return nil
        }
    }

    /// The usual text form.
    package var description: String {
        switch self {
        case .v4(let address): address.description
        case .v6(let address): address.description
        }
    }

    /// The name under which the address's PTR record lies (RFC 1035, 3.5; RFC 3596, 2.5).
    package var reverseName: DomainName {
        get throws(DomainNameError) {
            switch self {
            case .v4(let address):
                let octets = (0..<4).map { String(address.rawValue >> ($0 * 8) & 255) }
                return try DomainName(labels: octets.map(\.utf8) + ["in-addr".utf8, "arpa".utf8])
            case .v6(let address):
                var text: [UInt8] = []
                text.reserveCapacity(72)
                for half in [address.low, address.high] {
                    for shift in stride(from: UInt64(0), to: 64, by: 4) {
                        text.append(Self.hexDigits[Int(half >> shift & 15)])
                        text.append(UInt8(ascii: "."))
                    }
                }
                return try DomainName(dotted: text + "ip6.arpa".utf8)
            }
        }
    }

    /// Hexadecimal digits, in capitals as RFC 7208 shows the `i` macro.
    static let hexDigits = Array("0123456789ABCDEF".utf8)
}
