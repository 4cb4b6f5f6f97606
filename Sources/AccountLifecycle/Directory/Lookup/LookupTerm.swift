import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A lookup's term, or the start or a part of one, in the forms that the database stores.
///
/// A term may fit several kinds: digits may be a phone number as well as a receipt's number. All kinds that fit are
/// looked up, and the answer says which of them matched.
package struct LookupTerm: Sendable, Hashable {
    /// What was typed, without surrounding whitespace.
    package let text: String
    package let userID: UUID?
    /// In lower case, as GoTrue stores it.
    package let email: String?
    /// Digits only, as GoTrue stores it.
    package let phone: String?
    /// An id at Apple or at any other provider, as typed.
    package let providerID: String?
    package let username: String?
    /// The number of a receipt, always compared as a whole, whatever the comparison.
    package let receipt: Int64?
    /// The range of account and request ids that start with the term; a single id if the term is a whole one.
    let ids: ClosedRange<UUID>?
    /// The kind, if it was given explicitly.
    package let kind: LookupKind?
    /// How it is compared.
    let comparison: LookupComparison

    /// The fewest digits that the start of an id or of a phone number needs, unless its kind is given: fewer would
    /// match by chance.
    static let fewestDigits = (ofID: 6, ofPhone: 3)

    /// Whether the term may be the start of a user id but not a whole one.
    ///
    /// The ids of erased accounts are kept as hashes, which cannot be searched by a start.
    var isStartOfUserID: Bool { comparison == .prefix && kind != .request && ids != nil && userID == nil }

    /// Whether it may name an account that is gone.
    var mayNameErased: Bool { userID != nil || receipt != nil || isStartOfUserID }

    /// Recognizes a term; nil if it is empty or cannot be of the given kind.
    ///
    /// - Parameters:
    ///   - text: what was typed.
    ///   - kind: the kind, if it was given explicitly; nil for every kind that the text fits.
    ///   - comparison: how it is compared, which decides how short a part of a value may be.
    package init?(_ text: String, as kind: LookupKind? = nil, compared comparison: LookupComparison = .exact) {
        let trimmed = String(text.trimming { $0.isWhitespace || $0 == .byteOrderMark })
        guard !trimmed.isEmpty, !trimmed.unicodeScalars.contains("\u{0}") else { return nil }
        self.text = trimmed
        self.kind = kind
        self.comparison = comparison
        func fits(_ kinds: LookupKind...) -> Bool { kind.map { kinds.contains($0) } ?? true }
        let isAddress = trimmed.contains("@")
        if comparison == .contains {
            (userID, ids, phone, providerID, receipt) = (nil, nil, nil, nil, nil)
            email = fits(.email) ? trimmed : nil
            username = fits(.username) ? trimmed : nil
            if email == nil, username == nil { return nil }
            return
        }
        let isWhole = comparison == .exact
        userID = fits(.userID, .request) ? Self.uuid(trimmed) : nil
        if let userID {
            ids = userID...userID
        } else {
            ids = fits(.userID, .request) && !isWhole ? Self.ids(startingWith: trimmed, isSaid: kind != nil) : nil
        }
        let fewest = isWhole ? 6 : kind == .phone ? 1 : Self.fewestDigits.ofPhone
        phone = fits(.phone) ? Self.digits(trimmed, atLeast: fewest) : nil
        if isWhole {
            email = fits(.email) && isAddress ? Self.address(trimmed) : nil
        } else {
            // An email address may start like an international phone number, but nobody types one to mean an address.
            let isNumber = kind == nil && phone != nil && trimmed.hasPrefix("+")
            let isStart = fits(.email) && !isNumber && !trimmed.contains(where: \.isWhitespace)
            email = isStart ? trimmed.lowercased() : nil
        }
        receipt = fits(.receipt) ? Self.number(trimmed) : nil
        let isWord = !isAddress && userID == nil
        let hasPlusOrBlank = trimmed.hasPrefix("+") || trimmed.contains(" ")
        // A UUID in any spelling may also be a provider's own id, such as one of an enterprise directory.
        providerID = fits(.appleSub, .providerID) && !(kind == nil && (isAddress || hasPlusOrBlank)) ? trimmed : nil
        username = (kind == .username || (kind == nil && isWord && !hasPlusOrBlank)) ? trimmed : nil
        if ids == nil, email == nil, phone == nil, receipt == nil, providerID == nil, username == nil { return nil }
    }

    /// Whether the text has the form of Apple's ids: `001234.0123456789abcdef0123456789abcdef.0123`.
    package static func isAppleSub(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].count == 6 && parts[1].count == 32 && parts[2].count == 4
            && (parts[0] + parts[2]).allSatisfy { $0.isASCII && $0.isNumber }
            && parts[1].allSatisfy { $0.isASCII && $0.isHexDigit && !$0.isUppercase }
    }

    /// A UUID in any usual spelling: upper or lower case, with or without dashes, in braces, or as a URN.
    private static func uuid(_ text: String) -> UUID? {
        var rest = Substring(text.lowercased())
        if rest.hasPrefix("urn:uuid:") { rest = rest.dropFirst("urn:uuid:".count) }
        if rest.hasPrefix("{"), rest.hasSuffix("}") { rest = rest.dropFirst().dropLast() }
        let digits = rest.filter { $0 != "-" }
        return digits.count == 32 ? uuid(digits: digits) : nil
    }

    /// The range of all ids that start with these digits.
    private static func ids(startingWith text: String, isSaid: Bool) -> ClosedRange<UUID>? {
        let digits = text.lowercased().filter { $0 != "-" }
        guard ((isSaid ? 1 : fewestDigits.ofID)...32).contains(digits.count) else { return nil }
        func padded(with digit: String) -> String { digits + String(repeating: digit, count: 32 - digits.count) }
        guard let lowest = uuid(digits: padded(with: "0")), let highest = uuid(digits: padded(with: "f")) else {
            return nil
        }
        return lowest...highest
    }

    private static func uuid(digits: some StringProtocol) -> UUID? {
        guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        var dashed = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { dashed += "-" }
            dashed.append(digit)
        }
        return UUID(uuidString: dashed)
    }

    /// The address without a scheme or the angle brackets of a mail header.
    private static func address(_ text: String) -> String? {
        var rest = Substring(text)
        if let open = rest.lastIndex(of: "<"), rest.hasSuffix(">") {
            rest = rest[rest.index(after: open)...].dropLast()
        }
        if rest.lowercased().hasPrefix("mailto:") { rest = rest.dropFirst("mailto:".count) }
        let address = rest.lowercased()
        guard let at = address.lastIndex(of: "@"), at != address.startIndex,
            address.index(after: at) != address.endIndex,
            !address.contains(where: \.isWhitespace)
        else { return nil }
        return address
    }

    /// A phone number's digits: `+49 (151) 123-456`, `+49 (0)151 123456`, `0049151123456` and `49151123456` are the
    /// same.
    private static func digits(_ text: String, atLeast fewest: Int) -> String? {
        var spelled = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .dashPunctuation, .spaceSeparator,
                .mathSymbol where scalar == "\u{2212}":
                continue
            // Phones and mail programs put invisible marks around numbers to have them displayed from left to right.
            case .format: continue
            default:
                guard "0123456789+()./".unicodeScalars.contains(scalar) else { return nil }
                spelled.unicodeScalars.append(scalar)
            }
        }
        let isInternational = spelled.hasPrefix("+") || spelled.hasPrefix("00")
        // The zero is dialed only within the country, except in countries where it is part of the number.
        if isInternational, let zero = spelled.firstRange(of: "(0)") {
            let country = spelled[..<zero.lowerBound].filter(\.isNumber).drop { $0 == "0" }
            if !["39", "378", "379"].contains(country) { spelled.removeSubrange(zero) }
        }
        var digits = spelled.filter(\.isNumber)
        if digits.hasPrefix("00"), !spelled.hasPrefix("+") { digits.removeFirst(2) }
        return (fewest...15).contains(digits.count) ? digits : nil
    }

    private static func number(_ text: String) -> Int64? {
        let rest = text.hasPrefix("#") ? text.dropFirst() : Substring(text)
        guard rest.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int64(rest).flatMap { $0 > 0 ? $0 : nil }
    }
}
