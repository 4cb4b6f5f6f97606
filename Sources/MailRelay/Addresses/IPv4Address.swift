/// An IPv4 address.
package struct IPv4Address: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The address as a number, the first octet highest.
    package let rawValue: UInt32

    /// An address by number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads four decimal octets without leading zeros; nil for anything else.
    package init?(_ text: some Collection<UInt8>) {
        var value: UInt32 = 0
        var octets = 0
        var octet: UInt32 = 0
        var digits = 0
        for byte in text {
            if byte == UInt8(ascii: ".") {
                guard digits > 0, octets < 3 else { return nil }
                value = value << 8 | octet
                octets += 1
                octet = 0
                digits = 0
            } else {
                guard byte >= 0x30, byte <= 0x39, digits == 0 || octet > 0 else { return nil }
                octet = octet * 10 + UInt32(byte - 0x30)
                digits += 1
                guard octet <= 255 else { return nil }
            }
        }
        guard octets == 3, digits > 0 else { return nil }
        self.rawValue = value << 8 | octet
    }

    /// Reads four decimal octets; nil for anything else.
    package init?(_ text: String) {
        self.init(text.utf8)
    }

    /// Four decimal octets.
    package var description: String {
        "\(rawValue >> 24).\(rawValue >> 16 & 255).\(rawValue >> 8 & 255).\(rawValue & 255)"
    }

    /// By number.
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
