/// The grammar of RFC 7208, section 12.
///
/// The parser works on spans and stores ranges, so it copies no bytes of the policy.
extension SPFRecord {
    /// Parses a policy that ``isPolicy(_:)`` has accepted, from the joined bytes of all strings of the record.
    ///
    /// Throws ``SPFSyntaxError`` for the first mistake; a mistake anywhere invalidates the whole record (RFC 7208,
    /// 4.6).
    init(parsing text: [UInt8]) throws(SPFSyntaxError) {
        self.init(unread: text)
        // Enough room for most policies, so that the array does not grow term by term.
        directives.reserveCapacity(8)
        let text = text[...]
        let bytes = text.span
        var start = 6
        while start < bytes.count {
            guard bytes[start] != UInt8(ascii: " ") else {
                start += 1
                continue
            }
            var end = start
            while end < bytes.count, bytes[end].isVisible { end += 1 }
            do throws(SPFSyntaxError.Code) {
                guard end == bytes.count || bytes[end] == UInt8(ascii: " ") else { throw .badByte }
                try read(term: start..<end, of: bytes)
            } catch {
                end = bytes.firstIndex(of: UInt8(ascii: " "), from: end) ?? bytes.count
                throw SPFSyntaxError(code: error, term: text[start..<end])
            }
            start = end
        }
    }

    private mutating func read(term: Range<Int>, of text: Span<UInt8>) throws(SPFSyntaxError.Code) {
        // A modifier is a name directly followed by "="; anything else is a mechanism.
        var index = term.lowerBound
        while index < term.upperBound, text[index].isNameByte { index += 1 }
        if index < term.upperBound, text[index] == UInt8(ascii: "=") {
            try readModifier(named: term.lowerBound..<index, value: (index + 1)..<term.upperBound, of: text)
        } else {
            try readDirective(term, of: text)
        }
    }

    // MARK: Modifiers

    private mutating func readModifier(
        named place: Range<Int>,
        value: Range<Int>,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) {
        guard !place.isEmpty, text[place.lowerBound].isLetter else { throw .badModifierName }
        let name = text.extracting(place)
        if name.equalsIgnoringCase("redirect") {
            guard redirect == nil else { throw .duplicateModifier }
            redirect = try Self.domain(value, of: text)
        } else if name.equalsIgnoringCase("exp") {
            guard explanation == nil else { throw .duplicateModifier }
            explanation = try Self.domain(value, of: text)
        } else {
            guard SPFMacro.isWellFormed(text.extracting(value), letters: .all) else { throw .badMacro }
            unknownModifiers.append(String(decoding: self.text[place], as: UTF8.self))
        }
    }

    // MARK: Mechanisms

    private mutating func readDirective(_ term: Range<Int>, of text: Span<UInt8>) throws(SPFSyntaxError.Code) {
        var start = term.lowerBound + 1
        let result: SPFResult
        switch text[term.lowerBound] {
        case UInt8(ascii: "+"): result = .pass
        case UInt8(ascii: "-"): result = .fail
        case UInt8(ascii: "~"): result = .softfail
        case UInt8(ascii: "?"): result = .neutral
        default:
            result = .pass
            start = term.lowerBound
        }
        var end = start
        while end < term.upperBound, text[end] != UInt8(ascii: ":"), text[end] != UInt8(ascii: "/") { end += 1 }
        let mechanism = try Self.mechanism(named: start..<end, end..<term.upperBound, of: text)
        directives.append(SPFDirective(result: result, mechanism: mechanism, source: term))
    }

    /// `rest` starts at the colon or slash after the name, or is empty.
    private static func mechanism(
        named place: Range<Int>,
        _ rest: Range<Int>,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) -> SPFMechanism {
        let name = text.extracting(place)
        if name.equalsIgnoringCase("ip4") { return .ip(try network4(rest, of: text)) }
        if name.equalsIgnoringCase("ip6") { return .ip(try network6(rest, of: text)) }
        if name.equalsIgnoringCase("include") { return .include(try required(rest, of: text)) }
        if name.equalsIgnoringCase("exists") { return .exists(try required(rest, of: text)) }
        if name.equalsIgnoringCase("all") {
            guard rest.isEmpty else { throw .unexpectedArgument }
            return .all
        }
        if name.equalsIgnoringCase("ptr") { return .ptr(rest.isEmpty ? nil : try required(rest, of: text)) }
        let isA = name.equalsIgnoringCase("a")
        guard isA || name.equalsIgnoringCase("mx") else { throw .unknownMechanism }
        let (domain, lengths) = try dualLengths(rest, of: text)
        let spec = domain.isEmpty ? nil : try required(domain, of: text)
        return isA ? .a(spec, lengths) : .mx(spec, lengths)
    }

    private static func required(
        _ rest: Range<Int>,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) -> SPFDomainSpec {
        guard !rest.isEmpty else { throw .missingArgument }
        guard text[rest.lowerBound] == UInt8(ascii: ":") else { throw .unexpectedArgument }
        return try domain(rest.dropFirst(), of: text)
    }

    private static func network4(_ rest: Range<Int>, of text: Span<UInt8>) throws(SPFSyntaxError.Code) -> IPNetwork {
        let (place, length) = try addressAndLength(rest, limit: 32, of: text)
        guard let address = IPv4Address(text.extracting(place)) else { throw .badIPv4 }
        return .v4(address, length: length)
    }

    private static func network6(_ rest: Range<Int>, of text: Span<UInt8>) throws(SPFSyntaxError.Code) -> IPNetwork {
        let (place, length) = try addressAndLength(rest, limit: 128, of: text)
        guard let address = IPv6Address(text.extracting(place)) else { throw .badIPv6 }
        return .v6(address, length: length)
    }

    private static func addressAndLength(
        _ rest: Range<Int>,
        limit: UInt8,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) -> (Range<Int>, UInt8) {
        guard rest.count > 1, text[rest.lowerBound] == UInt8(ascii: ":") else { throw .missingArgument }
        var slash = rest.lowerBound + 1
        while slash < rest.upperBound, text[slash] != UInt8(ascii: "/") { slash += 1 }
        let address = (rest.lowerBound + 1)..<slash
        guard slash < rest.upperBound else { return (address, limit) }
        return (address, try prefixLength((slash + 1)..<rest.upperBound, limit: limit, of: text))
    }

    /// Removes `/n`, `//m` or `/n//m` from the end; the remainder is empty or a colon and a domain.
    private static func dualLengths(
        _ rest: Range<Int>,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) -> (Range<Int>, SPFPrefixLengths) {
        var lengths = SPFPrefixLengths()
        var end = rest.upperBound
        // A domain or a macro may also contain a slash, so the lengths are parsed from the end.
        if let slash = slashBeforeDigits(rest.lowerBound..<end, of: text), slash > rest.lowerBound,
            text[slash - 1] == UInt8(ascii: "/")
        {
            lengths.v6 = try prefixLength((slash + 1)..<end, limit: 128, of: text)
            end = slash - 1
        }
        if let slash = slashBeforeDigits(rest.lowerBound..<end, of: text) {
            lengths.v4 = try prefixLength((slash + 1)..<end, limit: 32, of: text)
            end = slash
        }
        return (rest.lowerBound..<end, lengths)
    }

    /// The position of a slash followed by digits up to the end of the range.
    private static func slashBeforeDigits(_ range: Range<Int>, of text: Span<UInt8>) -> Int? {
        var start = range.upperBound
        while start > range.lowerBound, text[start - 1].isDigit { start -= 1 }
        guard start < range.upperBound, start > range.lowerBound, text[start - 1] == UInt8(ascii: "/") else {
            return nil
        }
        return start - 1
    }

    private static func prefixLength(
        _ digits: Range<Int>,
        limit: UInt8,
        of text: Span<UInt8>
    ) throws(SPFSyntaxError.Code) -> UInt8 {
        guard 1...3 ~= digits.count else { throw .badPrefixLength }
        var value = 0
        for index in digits {
            guard text[index].isDigit else { throw .badPrefixLength }
            value = value * 10 + Int(text[index] - 0x30)
        }
        let hasLeadingZero = digits.count > 1 && text[digits.lowerBound] == 0x30
        guard !hasLeadingZero, value <= Int(limit) else { throw .badPrefixLength }
        return UInt8(value)
    }

    // MARK: Domains

    /// Checks a `domain-spec`: well-formed macros, and at the end either a dot and a top label or a macro.
    private static func domain(_ place: Range<Int>, of text: Span<UInt8>) throws(SPFSyntaxError.Code) -> SPFDomainSpec {
        guard !place.isEmpty else { throw .missingArgument }
        let domain = text.extracting(place)
        let hasMacros = domain.firstIndex(of: UInt8(ascii: "%")) != nil
        if hasMacros {
            guard SPFMacro.isWellFormed(domain, letters: .inDomains) else { throw .badMacro }
        }
        guard (hasMacros && SPFMacro.endsInMacro(domain)) || endsInTopLabel(domain) else { throw .badDomain }
        return SPFDomainSpec(source: place, hasMacros: hasMacros)
    }

    /// Whether the last label, ignoring a trailing dot, is a valid top label: not all digits.
    private static func endsInTopLabel(_ text: Span<UInt8>) -> Bool {
        var end = text.count
        if end > 0, text[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var start = end
        var isNumber = true
        while start > 0, text[start - 1] != UInt8(ascii: ".") {
            start -= 1
            let byte = text[start]
            guard byte.isLetterOrDigit || byte == UInt8(ascii: "-") else { return false }
            isNumber = isNumber && byte.isDigit
        }
        // A dot precedes the label, and the label has no hyphen at either end.
        return start > 0 && !isNumber && text[start].isLetterOrDigit && text[end - 1].isLetterOrDigit
    }
}

extension UInt8 {
    /// An ASCII letter.
    var isLetter: Bool {
        let small = self | 0x20
        return small >= 0x61 && small <= 0x7A
    }

    /// An ASCII digit.
    var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// An ASCII letter or digit.
    var isLetterOrDigit: Bool { isLetter || isDigit }

    /// A printable ASCII character other than the space.
    fileprivate var isVisible: Bool { self > 0x20 && self < 0x7F }

    /// A byte that a modifier name may contain.
    fileprivate var isNameByte: Bool {
        isLetterOrDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
    }
}
