/// An IPv6 address.
package struct IPv6Address: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first 64 bits.
    package let high: UInt64
    /// The last 64 bits.
    package let low: UInt64

    /// An address by its halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the text forms of RFC 4291 (2.2), with `::` and a dotted IPv4 tail; nil for anything else, zones included.
    package init?(_ text: some Collection<UInt8>) {
        var groups: [UInt16] = []
        groups.reserveCapacity(8)
        var gap: Int?
        var index = text.startIndex
        func peek() -> UInt8? { index < text.endIndex ? text[index] : nil }

        if peek() == UInt8(ascii: ":") {
            index = text.index(after: index)
            guard peek() == UInt8(ascii: ":") else { return nil }
            index = text.index(after: index)
            gap = 0
        }
        while let first = peek() {
            guard groups.count < 8, first.hexadecimalValue != nil else { return nil }
            let groupStart = index
            var value: UInt16 = 0
            var digits = 0
            while let byte = peek(), let digit = byte.hexadecimalValue {
                guard digits < 4 else { return nil }
                value = value << 4 | UInt16(digit)
                digits += 1
                index = text.index(after: index)
            }
            guard let separator = peek() else {
                groups.append(value)
                break
            }
            if separator == UInt8(ascii: ".") {
                guard groups.count <= 6, let tail = IPv4Address(text[groupStart...]) else { return nil }
                groups.append(UInt16(tail.rawValue >> 16))
                groups.append(UInt16(tail.rawValue & 0xFFFF))
                index = text.endIndex
                break
            }
            guard separator == UInt8(ascii: ":") else { return nil }
            groups.append(value)
            index = text.index(after: index)
            if peek() == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = groups.count
                index = text.index(after: index)
            } else if peek() == nil {
                return nil
            }
        }
        if let gap {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        self.high = groups[0..<4].reduce(0) { $0 << 16 | UInt64($1) }
        self.low = groups[4..<8].reduce(0) { $0 << 16 | UInt64($1) }
    }

    /// Reads the text forms of RFC 4291; nil for anything else.
    package init?(_ text: String) {
        self.init(text.utf8)
    }

    /// The IPv4 address that is mapped into this one (`::ffff:a.b.c.d`), if any.
    package var mappedIPv4: IPv4Address? {
        high == 0 && low >> 32 == 0xFFFF ? IPv4Address(rawValue: UInt32(truncatingIfNeeded: low)) : nil
    }

    /// The eight groups, the first highest.
    package var groups: [UInt16] {
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

    /// By number.
    package static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UInt8 {
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
