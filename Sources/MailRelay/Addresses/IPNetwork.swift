/// A range of addresses that share their leading bits.
package enum IPNetwork: Hashable, Sendable, CustomStringConvertible {
    /// An IPv4 range: any address in the range and a prefix length of 0 to 32.
    case v4(IPv4Address, length: UInt8)
    /// An IPv6 range: any address in the range and a prefix length of 0 to 128.
    case v6(IPv6Address, length: UInt8)

    /// Whether the address lies in the range; always false for an address of the other family.
    package func contains(_ address: IPAddress) -> Bool {
        switch (self, address) {
        case (.v4(let network, let length), .v4(let address)):
            return (network.rawValue ^ address.rawValue) & Self.mask32(length) == 0
        case (.v6(let network, let length), .v6(let address)):
            let (high, low) = Self.mask128(length)
            return (network.high ^ address.high) & high == 0 && (network.low ^ address.low) & low == 0
        default:
            return false
        }
    }

    /// Whether the range holds every address of its family.
    var isWholeFamily: Bool {
        switch self {
        case .v4(_, let length), .v6(_, let length): length == 0
        }
    }

    /// The lowest address of the range.
    package var first: IPAddress {
        switch self {
        case .v4(let network, let length):
            return .v4(IPv4Address(rawValue: network.rawValue & Self.mask32(length)))
        case .v6(let network, let length):
            let (high, low) = Self.mask128(length)
            return .v6(IPv6Address(high: network.high & high, low: network.low & low))
        }
    }

    /// The highest address of the range.
    package var last: IPAddress {
        switch self {
        case .v4(let network, let length):
            return .v4(IPv4Address(rawValue: network.rawValue | ~Self.mask32(length)))
        case .v6(let network, let length):
            let (high, low) = Self.mask128(length)
            return .v6(IPv6Address(high: network.high | ~high, low: network.low | ~low))
        }
    }

    /// Address and prefix length.
    package var description: String {
        switch self {
        case .v4(let network, let length): "\(network)/\(length)"
        case .v6(let network, let length): "\(network)/\(length)"
        }
    }

    private static func mask32(_ length: UInt8) -> UInt32 {
        // Swift's smart shift: shifting by 32 gives zero.
        ~(UInt32.max >> UInt32(length))
    }

    private static func mask128(_ length: UInt8) -> (UInt64, UInt64) {
        (~(UInt64.max >> UInt64(min(length, 64))), ~(UInt64.max >> UInt64(length > 64 ? length - 64 : 0)))
    }
}

extension IPNetwork {
    /// Parses an address, alone or followed by a slash and a prefix length; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let address = IPAddress(parts[0]) else { return nil }
        let limit: UInt8
        switch address {
        case .v4: limit = 32
        case .v6: limit = 128
        }
        var length = limit
        if parts.count == 2 {
            guard let stated = UInt8(parts[1]), stated <= limit else { return nil }
            length = stated
        }
        switch address {
        case .v4(let address): self = .v4(address, length: length)
        case .v6(let address): self = .v6(address, length: length)
        }
    }
}
