/// An IPv6 address.
package struct IPv6Address: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    let high: UInt64
    /// The last 64 bits.
    let low: UInt64

    /// Creates an address from its two halves.
    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses the text forms of RFC 4291 (2.2), with `::` and a dotted IPv4 tail; nil for anything else, including
    /// zones.
    init?(_ text: Span<UInt8>) {
        // The groups read so far, the last one lowest, and the number of groups before `::`.
        var value: UInt128 = 0
        var count = 0
        var gap: Int?
        var index = 0
        if index < text.count, text[index] == UInt8(ascii: ":") {
            guard text.count > 1, text[1] == UInt8(ascii: ":") else { return nil }
            gap = 0
            index = 2
        }
        while index < text.count {
            let start = index
            var group: UInt16 = 0
            while index < text.count, let digit = text[index].hexadecimalValue {
                guard index - start < 4 else { return nil }
                group = group << 4 | UInt16(digit)
                index += 1
            }
            guard count < 8, index > start else { return nil }
            if index < text.count, text[index] == UInt8(ascii: ".") {
                guard count <= 6, let tail = IPv4Address(text.extracting(start...)) else { return nil }
                value = value << 32 | UInt128(tail.rawValue)
                count += 2
                break
            }
            value = value << 16 | UInt128(group)
            count += 1
            guard index < text.count else { break }
            guard text[index] == UInt8(ascii: ":") else { return nil }
            index += 1
            // A single colon separates groups; the text must not end with one.
            guard index < text.count else { return nil }
            if text[index] == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = count
                index += 1
            }
        }
        if let gap {
            guard count < 8 else { return nil }
            let tail = value & ~(UInt128.max << (16 * (count - gap)))
            value = (value >> (16 * (count - gap))) << (16 * (8 - gap)) | tail
        } else {
            guard count == 8 else { return nil }
        }
        self.high = UInt64(truncatingIfNeeded: value >> 64)
        self.low = UInt64(truncatingIfNeeded: value)
    }

    /// Parses the text forms of RFC 4291; nil for anything else.
    package init?(_ text: String) {
        guard let address = text.withBytes({ Self($0) }) else { return nil }
        self = address
    }

    /// The IPv4 address that is mapped into this one (`::ffff:a.b.c.d`), if any.
    var mappedIPv4: IPv4Address? {
        high == 0 && low >> 32 == 0xFFFF ? IPv4Address(rawValue: UInt32(truncatingIfNeeded: low)) : nil
    }

    /// The eight groups, the first highest.
    var groups: [UInt16] {
        [high, high, high, high, low, low, low, low].enumerated().map { position, half in
            UInt16(truncatingIfNeeded: half >> UInt64(48 - position % 4 * 16))
        }
    }

    /// The recommended text form (RFC 5952): lower case, the longest run of zero groups shortened.
    package var description: String {
        if let mapped = mappedIPv4 { return "::ffff:\(mapped)" }
        let groups = groups
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > best.count { best = start..<end }
            start = max(end, start + 1)
        }
        let hex = groups.map { String($0, radix: 16) }
        guard best.count > 1 else { return hex.joined(separator: ":") }
        return hex[..<best.lowerBound].joined(separator: ":") + "::" + hex[best.upperBound...].joined(separator: ":")
    }

    /// Appends the hexadecimal digits separated by dots, in reverse order on request.
    func append(to text: inout [UInt8], reversed: Bool = false) {
        for position in 0..<32 {
            if position > 0 { text.append(UInt8(ascii: ".")) }
            let digit = reversed ? 31 - position : position
            let half = digit < 16 ? high : low
            text.append(UInt8(hexadecimal: UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 15))
        }
    }

    /// Compares addresses by number.
    package static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UInt8 {
    /// The hexadecimal digit of a value below 16, in capitals as RFC 7208 shows the `i` macro.
    init(hexadecimal value: UInt8) {
        self = value < 10 ? 0x30 + value : 0x41 + value - 10
    }

    /// The value of a hexadecimal digit in ASCII; nil for any other byte.
    var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}
