/// Reads records by the grammar of RFC 7208, section 12.
struct SPFParser {
    private var directives: [SPFDirective] = []
    private var redirect: SPFDomainSpec?
    private var explanation: SPFDomainSpec?
    private var unknownModifiers: [String] = []

    /// Reads a record that ``SPFRecord/isPolicy(_:)`` has accepted.
    static func parse(_ record: [UInt8]) throws(SPFSyntaxError) -> SPFRecord {
        var parser = SPFParser()
        var start = 6
        while start < record.count {
            guard record[start] != UInt8(ascii: " ") else {
                start += 1
                continue
            }
            var end = start
            while end < record.count, record[end] != UInt8(ascii: " ") { end += 1 }
            try parser.term(record[start..<end])
            start = end
        }
        return SPFRecord(
            directives: parser.directives,
            redirect: parser.redirect,
            explanation: parser.explanation,
            unknownModifiers: parser.unknownModifiers
        )
    }

    private mutating func term(_ term: ArraySlice<UInt8>) throws(SPFSyntaxError) {
        if term.contains(where: { $0 < 0x21 || $0 > 0x7E }) {
            throw SPFSyntaxError(code: .badByte, term: Array(term))
        }
        // A modifier is a name directly followed by "="; anything else is a mechanism.
        var index = term.startIndex
        while index < term.endIndex, term[index].isNameByte { index += 1 }
        if index < term.endIndex, term[index] == UInt8(ascii: "=") {
            try modifier(name: term[..<index], value: term[(index + 1)...], of: term)
        } else {
            try directive(term)
        }
    }

    // MARK: Modifiers

    private mutating func modifier(
        name: ArraySlice<UInt8>,
        value: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) {
        guard let first = name.first, first.isLetter else {
            throw SPFSyntaxError(code: .badModifierName, term: Array(term))
        }
        if name.equalsIgnoringCase("redirect") {
            guard redirect == nil else { throw SPFSyntaxError(code: .duplicateModifier, term: Array(term)) }
            redirect = try SPFDomainSpec(value, of: term)
        } else if name.equalsIgnoringCase("exp") {
            guard explanation == nil else { throw SPFSyntaxError(code: .duplicateModifier, term: Array(term)) }
            explanation = try SPFDomainSpec(value, of: term)
        } else {
            guard SPFMacro.isWellFormed(value, letters: .all) else {
                throw SPFSyntaxError(code: .badMacro, term: Array(term))
            }
            unknownModifiers.append(String(decoding: name, as: UTF8.self))
        }
    }

    // MARK: Mechanisms

    private mutating func directive(_ term: ArraySlice<UInt8>) throws(SPFSyntaxError) {
        var rest = term
        let result: SPFResult
        switch rest.first {
        case UInt8(ascii: "+"): result = .pass
        case UInt8(ascii: "-"): result = .fail
        case UInt8(ascii: "~"): result = .softfail
        case UInt8(ascii: "?"): result = .neutral
        default: result = .pass
        }
        if let first = rest.first, "+-~?".utf8.contains(first) { rest.removeFirst() }
        let nameEnd = rest.firstIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") } ?? rest.endIndex
        let name = rest[..<nameEnd]
        rest = rest[nameEnd...]
        directives.append(
            SPFDirective(
                result: result,
                mechanism: try Self.mechanism(named: name, rest, of: term),
                source: Array(term)
            )
        )
    }

    /// `rest` starts at the colon or slash behind the name, or is empty.
    private static func mechanism(
        named name: ArraySlice<UInt8>,
        _ rest: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> SPFMechanism {
        if name.equalsIgnoringCase("ip4") { return .ip(try network4(rest, of: term)) }
        if name.equalsIgnoringCase("ip6") { return .ip(try network6(rest, of: term)) }
        if name.equalsIgnoringCase("include") { return .include(try required(rest, of: term)) }
        if name.equalsIgnoringCase("exists") { return .exists(try required(rest, of: term)) }
        if name.equalsIgnoringCase("all") {
            guard rest.isEmpty else { throw SPFSyntaxError(code: .unexpectedArgument, term: Array(term)) }
            return .all
        }
        if name.equalsIgnoringCase("ptr") {
            guard !rest.isEmpty else { return .ptr(nil) }
            return .ptr(try required(rest, of: term))
        }
        let isA = name.equalsIgnoringCase("a")
        guard isA || name.equalsIgnoringCase("mx") else {
            throw SPFSyntaxError(code: .unknownMechanism, term: Array(term))
        }
        let (domain, lengths) = try dualLengths(rest, of: term)
        let spec = domain.isEmpty ? nil : try required(domain, of: term)
        return isA ? .a(spec, lengths) : .mx(spec, lengths)
    }

    private static func required(
        _ rest: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> SPFDomainSpec {
        guard rest.first == UInt8(ascii: ":") else {
            throw SPFSyntaxError(code: rest.isEmpty ? .missingArgument : .unexpectedArgument, term: Array(term))
        }
        return try SPFDomainSpec(rest.dropFirst(), of: term)
    }

    private static func network4(
        _ rest: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> IPNetwork {
        let (text, length) = try addressAndLength(rest, limit: 32, of: term)
        guard let address = IPv4Address(text) else { throw SPFSyntaxError(code: .badIPv4, term: Array(term)) }
        return .v4(address, length: length)
    }

    private static func network6(
        _ rest: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> IPNetwork {
        let (text, length) = try addressAndLength(rest, limit: 128, of: term)
        guard let address = IPv6Address(text) else { throw SPFSyntaxError(code: .badIPv6, term: Array(term)) }
        return .v6(address, length: length)
    }

    private static func addressAndLength(
        _ rest: ArraySlice<UInt8>,
        limit: UInt8,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> (ArraySlice<UInt8>, UInt8) {
        guard rest.first == UInt8(ascii: ":"), rest.count > 1 else {
            throw SPFSyntaxError(code: .missingArgument, term: Array(term))
        }
        let text = rest.dropFirst()
        guard let slash = text.firstIndex(of: UInt8(ascii: "/")) else { return (text, limit) }
        return (text[..<slash], try prefixLength(text[(slash + 1)...], limit: limit, of: term))
    }

    /// Takes `/n`, `//m` or `/n//m` off the end; what is left is empty or a colon and a domain.
    private static func dualLengths(
        _ rest: ArraySlice<UInt8>,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> (ArraySlice<UInt8>, SPFPrefixLengths) {
        let slash = UInt8(ascii: "/")
        var lengths = SPFPrefixLengths()
        var rest = rest
        // A slash may also stand inside a domain or a macro, so the lengths are looked for from the end.
        func trailing(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
            let digits = text.reversed().prefix { $0 >= 0x30 && $0 <= 0x39 }.count
            guard digits > 0, digits < text.count, text[text.endIndex - digits - 1] == slash else { return nil }
            return text.suffix(digits)
        }
        if let digits = trailing(rest), rest.count > digits.count + 1, rest[digits.startIndex - 2] == slash {
            lengths.v6 = try prefixLength(digits, limit: 128, of: term)
            rest = rest[..<(digits.startIndex - 2)]
        }
        if let digits = trailing(rest) {
            lengths.v4 = try prefixLength(digits, limit: 32, of: term)
            rest = rest[..<(digits.startIndex - 1)]
        }
        return (rest, lengths)
    }

    private static func prefixLength(
        _ digits: ArraySlice<UInt8>,
        limit: UInt8,
        of term: ArraySlice<UInt8>
    ) throws(SPFSyntaxError) -> UInt8 {
        var value = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { throw SPFSyntaxError(code: .badPrefixLength, term: Array(term)) }
            value = value * 10 + Int(digit - 0x30)
        }
        let isLeadingZero = digits.first == 0x30 && digits.count > 1
        guard !digits.isEmpty, digits.count <= 3, !isLeadingZero, value <= Int(limit) else {
            throw SPFSyntaxError(code: .badPrefixLength, term: Array(term))
        }
        return UInt8(value)
    }
}

extension SPFRecord {
    /// Reads a policy; the bytes are those of all strings of the record, joined.
    ///
    /// Throws ``SPFSyntaxError`` for the first mistake; a record is wrong as a whole wherever the mistake stands (RFC 7208, 4.6).
    package init(parsing text: [UInt8]) throws(SPFSyntaxError) {
        self = try SPFParser.parse(text)
    }
}

extension SPFDomainSpec {
    /// Checks `domain-spec`: macros well formed, and at its end a top label with a dot before it, or a macro.
    init(_ text: ArraySlice<UInt8>, of term: ArraySlice<UInt8>) throws(SPFSyntaxError) {
        guard !text.isEmpty else { throw SPFSyntaxError(code: .missingArgument, term: Array(term)) }
        let hasMacros = text.contains(UInt8(ascii: "%"))
        if hasMacros {
            guard SPFMacro.isWellFormed(text, letters: .inDomains) else {
                throw SPFSyntaxError(code: .badMacro, term: Array(term))
            }
        }
        guard (hasMacros && SPFMacro.endsInMacro(text)) || Self.endsInTopLabel(text) else {
            throw SPFSyntaxError(code: .badDomain, term: Array(term))
        }
        self.source = Array(text)
        self.hasMacros = hasMacros
        self.literal = hasMacros ? nil : try? DomainName(dotted: text)
    }

    private static func endsInTopLabel(_ text: ArraySlice<UInt8>) -> Bool {
        var text = text
        if text.last == UInt8(ascii: ".") { text.removeLast() }
        guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let label = text[(dot + 1)...]
        guard let first = label.first, let last = label.last, first.isLetterOrDigit, last.isLetterOrDigit else {
            return false
        }
        return label.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
            && label.contains { $0.isLetter || $0 == UInt8(ascii: "-") }
    }
}

extension UInt8 {
    /// An ASCII letter.
    var isLetter: Bool {
        let small = self | 0x20
        return small >= 0x61 && small <= 0x7A
    }

    /// An ASCII letter or digit.
    var isLetterOrDigit: Bool { isLetter || (self >= 0x30 && self <= 0x39) }

    /// A byte that modifier names may hold.
    fileprivate var isNameByte: Bool {
        isLetterOrDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
    }
}

extension Collection<UInt8> {
    /// Compares with lower-case ASCII text, whatever the case of the bytes.
    func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { expected in
            var index = 0
            for byte in self {
                if byte.lowercasedASCII != expected[index] { return false }
                index += 1
            }
            return true
        }
    }
}
