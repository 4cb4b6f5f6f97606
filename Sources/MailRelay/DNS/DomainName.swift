/// A domain name in DNS form: labels of bytes, compared without regard to ASCII case.
///
/// Labels may hold any byte, including dots, since names come from SPF macros and from other people's zones. The name
/// is stored in lower case, in wire form without the closing root label, so that equality and hashing follow DNS rules
/// (RFC 4343).
package struct DomainName: Hashable, Sendable {
    /// Length-prefixed labels in lower case, without the root's zero byte; empty for the root.
    package let wire: [UInt8]

    /// The root of DNS, written ".".
    package static let root = DomainName(checkedWire: [])

    /// The maximum length of a name, in wire bytes including the root label (RFC 1035, 2.3.4).
    static let maximumWireLength = 255

    private init(checkedWire: [UInt8]) {
        self.wire = checkedWire
    }

    /// Parses dotted text as written in SPF records and on command lines: every dot separates labels, with no escapes.
    ///
    /// One trailing dot is allowed. Throws ``DomainNameError`` for empty labels, labels over 63 bytes and names over
    /// 255.
    init(dotted text: Span<UInt8>) throws(DomainNameError) {
        var wire: [UInt8] = []
        wire.reserveCapacity(text.count + 1)
        wire.append(0)
        wire.append(text)
        // The byte of each dot becomes the length of the label after it.
        var start = 0
        do {
            var bytes = wire.mutableSpan
            for index in 1..<bytes.count {
                let byte = bytes[index]
                guard byte == UInt8(ascii: ".") else {
                    bytes[index] = byte.lowercasedASCII
                    continue
                }
                let length = index - start - 1
                guard length > 0 else { throw bytes.count == 2 ? .empty : .emptyLabel }
                guard length <= 63 else { throw .labelTooLong(length) }
                bytes[start] = UInt8(length)
                start = index
            }
        }
        let length = wire.count - start - 1
        if length > 0 {
            guard length <= 63 else { throw .labelTooLong(length) }
            wire[start] = UInt8(length)
        } else {
            guard start > 0 else { throw .empty }
            wire.removeLast()
        }
        guard wire.count + 1 <= Self.maximumWireLength else { throw .nameTooLong(wire.count + 1) }
        self.wire = wire
    }

    /// Hashes the wire form as one buffer, since hashing byte by byte takes several times as long.
    package func hash(into hasher: inout Hasher) {
        wire.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Compares eight bytes at a time, since comparing names is the most frequent operation.
    package static func == (left: DomainName, right: DomainName) -> Bool {
        guard left.wire.count == right.wire.count else { return false }
        return left.wire.withUnsafeBytes { left in
            right.wire.withUnsafeBytes { right in
                var offset = 0
                while offset < left.count, left.word(at: offset) == right.word(at: offset) { offset += 8 }
                return offset >= left.count
            }
        }
    }

    /// A 64-bit digest that different names rarely share.
    var digest: UInt64 {
        wire.withUnsafeBytes { bytes in
            var digest = UInt64(bytes.count)
            var offset = 0
            while offset < bytes.count {
                // Multiplying by the golden ratio spreads the bits.
                let product = (digest ^ bytes.word(at: offset)).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
                digest = product.high ^ product.low
                offset += 8
            }
            return digest
        }
    }

    /// Parses dotted text; see ``init(dotted:)-(Span)``.
    init(dotted text: ArraySlice<UInt8>) throws(DomainNameError) {
        try self.init(dotted: text.span)
    }

    /// Parses dotted text; see ``init(dotted:)-(Span)``.
    package init(dotted text: String) throws(DomainNameError) {
        try self.init(dotted: Array(text.utf8)[...])
    }

    /// Builds a name from labels as bytes, the leftmost first.
    package init(labels: some Sequence<some Collection<UInt8>>) throws(DomainNameError) {
        var wire: [UInt8] = []
        for label in labels {
            guard !label.isEmpty else { throw .emptyLabel }
            guard label.count <= 63 else { throw .labelTooLong(label.count) }
            wire.append(UInt8(label.count))
            for byte in label { wire.append(byte.lowercasedASCII) }
        }
        guard wire.count + 1 <= Self.maximumWireLength else { throw .nameTooLong(wire.count + 1) }
        self.wire = wire
    }

    /// The labels, the leftmost first.
    var labels: [ArraySlice<UInt8>] {
        var labels: [ArraySlice<UInt8>] = []
        var index = 0
        while index < wire.count {
            let end = index + 1 + Int(wire[index])
            labels.append(wire[(index + 1)..<end])
            index = end
        }
        return labels
    }

    /// The labels joined by dots without escapes, the form that SPF macros split.
    var dottedBytes: [UInt8] {
        var output = Array(wire.dropFirst())
        var index = 0
        while index < wire.count {
            if index > 0 { output[index - 1] = UInt8(ascii: ".") }
            index += 1 + Int(wire[index])
        }
        return output
    }

    /// The number of labels; zero for the root.
    package var labelCount: Int {
        var count = 0
        var index = 0
        while index < wire.count {
            index += 1 + Int(wire[index])
            count += 1
        }
        return count
    }

    /// Whether this is the root, which is the target of a null MX.
    var isRoot: Bool { wire.isEmpty }

    /// The name without its leftmost label; nil for the root.
    package var parent: DomainName? {
        guard let first = wire.first else { return nil }
        return DomainName(checkedWire: Array(wire[(1 + Int(first))...]))
    }

    /// The rightmost `count` labels; the whole name if it has no more.
    package func suffix(labels count: Int) -> DomainName {
        var name = self
        for _ in 0..<max(0, labelCount - count) {
            guard let parent = name.parent else { break }
            name = parent
        }
        return name
    }

    /// Prepends dotted labels, as in `_dmarc.` + name.
    func prefixed(by prefix: String) throws(DomainNameError) -> DomainName {
        try prefixed(by: DomainName(dotted: prefix))
    }

    /// Prepends another name's labels.
    func prefixed(by prefix: DomainName) throws(DomainNameError) -> DomainName {
        let wire = prefix.wire + wire
        guard wire.count + 1 <= Self.maximumWireLength else { throw .nameTooLong(wire.count + 1) }
        return DomainName(checkedWire: wire)
    }

    /// Whether the name equals `ancestor` or lies below it, comparing whole labels.
    package func isWithin(_ ancestor: DomainName) -> Bool {
        guard wire.count >= ancestor.wire.count else { return false }
        let cut = wire.count - ancestor.wire.count
        guard wire[cut...].elementsEqual(ancestor.wire) else { return false }
        var index = 0
        while index < cut { index += 1 + Int(wire[index]) }
        return index == cut
    }
}

extension DomainName: CustomStringConvertible {
    /// The presentation form without the final dot; dots inside labels, backslashes and unprintable bytes are escaped
    /// (RFC 1035, 5.1).
    package var description: String {
        guard !isRoot else { return "." }
        var text = ""
        text.reserveCapacity(wire.count)
        for label in labels {
            if !text.isEmpty { text.append(".") }
            for byte in label {
                switch byte {
                case UInt8(ascii: "."), UInt8(ascii: "\\"):
                    text.append("\\")
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                case 0x21...0x7E:
                    text.unicodeScalars.append(Unicode.Scalar(byte))
                default:
                    let digits = String(byte)
                    text.append("\\" + String(repeating: "0", count: 3 - digits.count) + digits)
                }
            }
        }
        return text
    }
}

extension UInt8 {
    /// The byte in ASCII lower case.
    @inline(__always)
    var lowercasedASCII: UInt8 {
        self >= 0x41 && self <= 0x5A ? self | 0x20 : self
    }
}
