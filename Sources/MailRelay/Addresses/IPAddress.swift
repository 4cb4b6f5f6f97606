/// An IPv4 or IPv6 address.
package enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// An IPv4 address.
    case v4(IPv4Address)
    /// An IPv6 address.
    case v6(IPv6Address)

    /// Parses an address; nil for anything else.
    ///
    /// An IPv4-mapped IPv6 address is read as the IPv4 address (RFC 7208, 5).
    package init?(_ text: String) {
        guard let address = text.withBytes({ Self($0) }) else { return nil }
        self = address
    }

    private init?(_ text: Span<UInt8>) {
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

    /// The name of the address's PTR record (RFC 1035, 3.5; RFC 3596, 2.5).
    package var reverseName: DomainName {
        get throws(DomainNameError) {
            var text: [UInt8] = []
            text.reserveCapacity(72)
            append(to: &text, reversed: true)
            switch self {
            case .v4: text.append(contentsOf: ".in-addr.arpa".utf8)
            case .v6: text.append(contentsOf: ".ip6.arpa".utf8)
            }
            return try DomainName(dotted: text[...])
        }
    }

    /// Appends dot-separated octets for IPv4 or hexadecimal digits for IPv6, in reverse order on request.
    func append(to text: inout [UInt8], reversed: Bool = false) {
        switch self {
        case .v4(let address): address.append(to: &text, reversed: reversed)
        case .v6(let address): address.append(to: &text, reversed: reversed)
        }
    }
}
