#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A term that somebody looks an account up by, in the forms that the database stores.
///
/// A term may be several things at once: digits are a phone number as well as a receipt's. All that fit are looked up, and the answer
/// says which of them matched.
package struct LookupTerm: Sendable, Hashable {
    /// What was typed, without blanks around it.
    package let text: String
    package let userID: UUID?
    /// In lower case, as GoTrue stores it.
    package let email: String?
    /// Digits only, as GoTrue stores it.
    package let phone: String?
    /// An id at Apple or at any other provider, as it is.
    package let providerID: String?
    package let username: String?
    package let receipt: Int64?
    /// What it is, when somebody said so.
    package let kind: LookupKind?

    /// Recognises a term; nil when it is empty or cannot be of that kind.
    ///
    /// - Parameters:
    ///   - text: what was typed.
    ///   - kind: what it is, when somebody said so; nil for all that it may be.
    package init?(_ text: String, as kind: LookupKind? = nil) {
        let trimmed = Self.trimmed(text)
        guard !trimmed.isEmpty, !trimmed.unicodeScalars.contains("\u{0}") else { return nil }
        self.text = trimmed
        self.kind = kind
        func fits(_ kinds: LookupKind...) -> Bool { kind.map { kinds.contains($0) } ?? true }
        userID = fits(.userID, .request) ? Self.uuid(trimmed) : nil
        let isAddress = trimmed.contains("@")
        email = fits(.email) && isAddress ? Self.address(trimmed) : nil
        phone = fits(.phone) ? Self.digits(trimmed) : nil
        receipt = fits(.receipt) ? Self.number(trimmed) : nil
        let isWord = !isAddress && userID == nil
        let hasPlusOrBlank = trimmed.hasPrefix("+") || trimmed.contains(" ")
        // An id in any spelling of a UUID may also be a provider's own, such as one of an enterprise directory.
        providerID = fits(.appleSub, .providerID) && !(kind == nil && (isAddress || hasPlusOrBlank)) ? trimmed : nil
        username = (kind == .username || (kind == nil && isWord && !hasPlusOrBlank)) ? trimmed : nil
        if userID == nil, email == nil, phone == nil, receipt == nil, providerID == nil, username == nil { return nil }
    }

    /// Whether it has the form of Apple's ids: `001234.0123456789abcdef0123456789abcdef.0123`.
    package static func isAppleSub(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].count == 6 && parts[1].count == 32 && parts[2].count == 4
            && (parts[0] + parts[2]).allSatisfy { $0.isASCII && $0.isNumber }
            && parts[1].allSatisfy { $0.isASCII && $0.isHexDigit && !$0.isUppercase }
    }

    /// Any usual spelling: upper or lower case, with or without dashes, in braces, as a URN.
    private static func uuid(_ text: String) -> UUID? {
        var rest = Substring(text.lowercased())
        if rest.hasPrefix("urn:uuid:") { rest = rest.dropFirst("urn:uuid:".count) }
        if rest.hasPrefix("{"), rest.hasSuffix("}") { rest = rest.dropFirst().dropLast() }
        let digits = rest.filter { $0 != "-" }
        guard digits.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
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

    /// `+49 (151) 123-456`, `0049151123456` and `49151123456` are one number.
    private static func digits(_ text: String) -> String? {
        var digits = ""
        for character in text {
            if character.isASCII, character.isNumber {
                digits.append(character)
            } else if !" +-().\u{A0}/".contains(character) {
                return nil
            }
        }
        if digits.hasPrefix("00"), !text.hasPrefix("+") { digits.removeFirst(2) }
        return (6...15).contains(digits.count) ? digits : nil
    }

    private static func number(_ text: String) -> Int64? {
        let rest = text.hasPrefix("#") ? text.dropFirst() : Substring(text)
        guard rest.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int64(rest).flatMap { $0 > 0 ? $0 : nil }
    }

    /// A mark of the byte order, which files from other machines begin with, is a blank as well.
    private static func trimmed(_ text: String) -> String {
        func isBlank(_ character: Character) -> Bool { character.isWhitespace || character == "\u{FEFF}" }
        guard let first = text.firstIndex(where: { !isBlank($0) }),
            let last = text.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(text[first...last])
    }
}
