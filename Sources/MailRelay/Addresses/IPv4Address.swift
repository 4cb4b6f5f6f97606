/// An IPv4 address.
package struct IPv4Address: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The address as a number, with the first octet most significant.
    let rawValue: UInt32

    /// Creates an address from its number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Parses four decimal octets without leading zeros; nil for anything else.
    init?(_ text: Span<UInt8>) {
        var value: UInt32 = 0
        var octets = 0
        var octet: UInt32 = 0
        var digits = 0
        for index in text.indices {
            let byte = text[index]
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

    /// Parses four decimal octets; nil for anything else.
    package init?(_ text: String) {
        guard let address = text.withBytes({ Self($0) }) else { return nil }
        self = address
    }

    /// Four decimal octets.
    package var description: String {
        var text: [UInt8] = []
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends four decimal octets, in reverse order on request.
    func append(to text: inout [UInt8], reversed: Bool = false) {
        for position in 0..<4 {
            if position > 0 { text.append(UInt8(ascii: ".")) }
            let shift = UInt32(8 * (reversed ? position : 3 - position))
            text.append(decimal: UInt8(truncatingIfNeeded: rawValue >> shift))
        }
    }

    /// Compares addresses by number.
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
