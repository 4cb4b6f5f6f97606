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
        let address = text.utf8.withContiguousStorageIfAvailable { Self(bytes: $0) } ?? Self(bytes: Array(text.utf8))
        guard let address else { return nil }
        self = address
    }

    private init?(bytes: some Collection<UInt8>) {
        if let address = IPv4Address(bytes) {
            self = .v4(address)
        } else if let address = IPv6Address(bytes) {
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
            var text: [UInt8] = []
            text.reserveCapacity(72)
            switch self {
            case .v4(let address):
                for shift in stride(from: UInt32(0), to: 32, by: 8) {
                    text.append(contentsOf: "\(address.rawValue >> shift & 255).".utf8)
                }
                text.append(contentsOf: "in-addr.arpa".utf8)
            case .v6(let address):
                for half in [address.low, address.high] {
                    for shift in stride(from: UInt64(0), to: 64, by: 4) {
                        text.append(Self.hexDigits[Int(half >> shift & 15)])
                        text.append(UInt8(ascii: "."))
                    }
                }
                text.append(contentsOf: "ip6.arpa".utf8)
            }
            return try DomainName(dotted: text)
        }
    }

    /// Hexadecimal digits, in capitals as RFC 7208 shows the `i` macro.
    static let hexDigits = Array("0123456789ABCDEF".utf8)
}
