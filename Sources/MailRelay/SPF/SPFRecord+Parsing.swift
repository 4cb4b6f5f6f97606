/// The grammar of RFC 7208, section 12.
extension SPFRecord {
    /// Reads a policy that ``isPolicy(_:)`` has accepted; the bytes are those of all strings of the record, joined.
    ///
    /// Throws ``SPFSyntaxError`` for the first mistake; a record is wrong as a whole wherever the mistake stands (RFC 7208, 4.6).
    package init(parsing text: [UInt8]) throws(SPFSyntaxError) {
        self.init(unread: text)
        // Room for most policies, so that it does not grow term by term.
        directives.reserveCapacity(8)
        var start = 6
        while start < text.count {
            guard text[start] != UInt8(ascii: " ") else {
                start += 1
                continue
            }
            var end = start
            var isPrintable = true
            while end < text.count, text[end] != UInt8(ascii: " ") {
                isPrintable = isPrintable && text[end] > 0x20 && text[end] < 0x7F
                end += 1
            }
            guard isPrintable else { throw error(.badByte, start..<end) }
            try read(term: start..<end)
            start = end
        }
    }

    private mutating func read(term: Range<Int>) throws(SPFSyntaxError) {
        // A modifier is a name directly followed by "="; anything else is a mechanism.
        var index = term.lowerBound
        while index < term.upperBound, text[index].isNameByte { index += 1 }
        if index < term.upperBound, text[index] == UInt8(ascii: "=") {
            try readModifier(named: term.lowerBound..<index, value: (index + 1)..<term.upperBound, of: term)
        } else {
            try readDirective(term)
        }
    }

    private func error(_ code: SPFSyntaxError.Code, _ term: Range<Int>) -> SPFSyntaxError {
        SPFSyntaxError(code: code, term: text[term])
    }

    // MARK: Modifiers

    private mutating func readModifier(
        named name: Range<Int>,
        value: Range<Int>,
        of term: Range<Int>
    ) throws(SPFSyntaxError) {
        guard !name.isEmpty, text[name.lowerBound].isLetter else { throw error(.badModifierName, term) }
        if text[name].equalsIgnoringCase("redirect") {
            guard redirect == nil else { throw error(.duplicateModifier, term) }
            redirect = try domain(value, of: term)
        } else if text[name].equalsIgnoringCase("exp") {
            guard explanation == nil else { throw error(.duplicateModifier, term) }
            explanation = try domain(value, of: term)
        } else {
            guard SPFMacro.isWellFormed(text[value], letters: .all) else { throw error(.badMacro, term) }
            unknownModifiers.append(String(decoding: text[name], as: UTF8.self))
        }
    }

    // MARK: Mechanisms

    private mutating func readDirective(_ term: Range<Int>) throws(SPFSyntaxError) {
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
        let mechanism = try mechanism(named: start..<end, end..<term.upperBound, of: term)
        directives.append(SPFDirective(result: result, mechanism: mechanism, source: term))
    }

    /// `rest` starts at the colon or slash behind the name, or is empty.
    private func mechanism(
        named name: Range<Int>,
        _ rest: Range<Int>,
        of term: Range<Int>
    ) throws(SPFSyntaxError) -> SPFMechanism {
        if text[name].equalsIgnoringCase("ip4") { return .ip(try network4(rest, of: term)) }
        if text[name].equalsIgnoringCase("ip6") { return .ip(try network6(rest, of: term)) }
        if text[name].equalsIgnoringCase("include") { return .include(try required(rest, of: term)) }
        if text[name].equalsIgnoringCase("exists") { return .exists(try required(rest, of: term)) }
        if text[name].equalsIgnoringCase("all") {
            guard rest.isEmpty else { throw error(.unexpectedArgument, term) }
            return .all
        }
        if text[name].equalsIgnoringCase("ptr") { return .ptr(rest.isEmpty ? nil : try required(rest, of: term)) }
        let isA = text[name].equalsIgnoringCase("a")
        guard isA || text[name].equalsIgnoringCase("mx") else { throw error(.unknownMechanism, term) }
        let (domain, lengths) = try dualLengths(rest, of: term)
        let spec = domain.isEmpty ? nil : try required(domain, of: term)
        return isA ? .a(spec, lengths) : .mx(spec, lengths)
    }

    private func required(_ rest: Range<Int>, of term: Range<Int>) throws(SPFSyntaxError) -> SPFDomainSpec {
        guard !rest.isEmpty else { throw error(.missingArgument, term) }
        guard text[rest.lowerBound] == UInt8(ascii: ":") else { throw error(.unexpectedArgument, term) }
        return try domain(rest.dropFirst(), of: term)
    }

    private func network4(_ rest: Range<Int>, of term: Range<Int>) throws(SPFSyntaxError) -> IPNetwork {
        let (range, length) = try addressAndLength(rest, limit: 32, of: term)
        guard let address = IPv4Address(text[range]) else { throw error(.badIPv4, term) }
        return .v4(address, length: length)
    }

    private func network6(_ rest: Range<Int>, of term: Range<Int>) throws(SPFSyntaxError) -> IPNetwork {
        let (range, length) = try addressAndLength(rest, limit: 128, of: term)
        guard let address = IPv6Address(text[range]) else { throw error(.badIPv6, term) }
        return .v6(address, length: length)
    }

    private func addressAndLength(
        _ rest: Range<Int>,
        limit: UInt8,
        of term: Range<Int>
    ) throws(SPFSyntaxError) -> (Range<Int>, UInt8) {
        guard rest.count > 1, text[rest.lowerBound] == UInt8(ascii: ":") else { throw error(.missingArgument, term) }
        let range = rest.dropFirst()
        guard let slash = text[range].firstIndex(of: UInt8(ascii: "/")) else { return (range, limit) }
        let length = try prefixLength((slash + 1)..<range.upperBound, limit: limit, of: term)
        return (range.lowerBound..<slash, length)
    }

    /// Takes `/n`, `//m` or `/n//m` off the end; what is left is empty or a colon and a domain.
    private func dualLengths(
        _ rest: Range<Int>,
        of term: Range<Int>
    ) throws(SPFSyntaxError) -> (Range<Int>, SPFPrefixLengths) {
        var lengths = SPFPrefixLengths()
        var end = rest.upperBound
        // A slash may also stand inside a domain or a macro, so the lengths are looked for from the end.
        if let slash = slashBeforeDigits(rest.lowerBound..<end), slash > rest.lowerBound,
            text[slash - 1] == UInt8(ascii: "/")
        {
            lengths.v6 = try prefixLength((slash + 1)..<end, limit: 128, of: term)
            end = slash - 1
        }
        if let slash = slashBeforeDigits(rest.lowerBound..<end) {
            lengths.v4 = try prefixLength((slash + 1)..<end, limit: 32, of: term)
            end = slash
        }
        return (rest.lowerBound..<end, lengths)
    }

    /// Where a slash stands with digits behind it, as the end of the range.
    private func slashBeforeDigits(_ range: Range<Int>) -> Int? {
        var start = range.upperBound
        while start > range.lowerBound, text[start - 1].isDigit { start -= 1 }
        guard start < range.upperBound, start > range.lowerBound, text[start - 1] == UInt8(ascii: "/") else {
            return nil
        }
        return start - 1
    }

    private func prefixLength(_ digits: Range<Int>, limit: UInt8, of term: Range<Int>) throws(SPFSyntaxError) -> UInt8 {
        guard 1...3 ~= digits.count else { throw error(.badPrefixLength, term) }
        var value = 0
        for index in digits {
            guard text[index].isDigit else { throw error(.badPrefixLength, term) }
            value = value * 10 + Int(text[index] - 0x30)
        }
        let hasLeadingZero = digits.count > 1 && text[digits.lowerBound] == 0x30
        guard !hasLeadingZero, value <= Int(limit) else { throw error(.badPrefixLength, term) }
        return UInt8(value)
    }

    // MARK: Domains

    /// Checks `domain-spec`: macros well formed, and at its end a top label with a dot before it, or a macro.
    private func domain(_ range: Range<Int>, of term: Range<Int>) throws(SPFSyntaxError) -> SPFDomainSpec {
        guard !range.isEmpty else { throw error(.missingArgument, term) }
        let domain = text[range]
        let hasMacros = domain.contains(UInt8(ascii: "%"))
        if hasMacros {
            guard SPFMacro.isWellFormed(domain, letters: .inDomains) else { throw error(.badMacro, term) }
        }
        guard (hasMacros && SPFMacro.endsInMacro(domain)) || Self.endsInTopLabel(domain) else {
            throw error(.badDomain, term)
        }
        return SPFDomainSpec(source: range, hasMacros: hasMacros)
    }

    private static func endsInTopLabel(_ text: ArraySlice<UInt8>) -> Bool {
        let text = text.last == UInt8(ascii: ".") ? text.dropLast() : text
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

    /// An ASCII digit.
    var isDigit: Bool { self >= 0x30 && self <= 0x39 }

    /// An ASCII letter or digit.
    var isLetterOrDigit: Bool { isLetter || isDigit }

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
