/// One way an identifier can be written, as bytes to search for, with the rule that tells it from a longer word.
struct IdentifierPattern: Sendable, Hashable {
    /// ASCII letters in lower case, found in any; other bytes as they are.
    let bytes: [UInt8]
    /// Which neighbours make it a part of something else.
    let boundary: Boundary

    enum Boundary: Sendable, Hashable {
        /// Long and random enough to be nobody else's, wherever it stands.
        case none
        /// No letter, digit or other character of a local part before; no further label of a host name after.
        case email
        /// No digit on either side.
        case digits
        /// No letter or digit on either side.
        case word
    }

    /// The ways in which an identifier is searched for.
    static func patterns(of identifier: Identifier) -> [IdentifierPattern] {
        let value = Array(identifier.value.utf8)
        switch identifier.kind {
        case .userID:
            return [
                IdentifierPattern(bytes: value, boundary: .none),
                IdentifierPattern(bytes: value.filter { $0 != UInt8(ascii: "-") }, boundary: .none),
            ]
        case .email:
            return spellings(of: value).map { IdentifierPattern(bytes: $0, boundary: .email) }
        case .phone:
            return [IdentifierPattern(bytes: value, boundary: .digits)]
        case .providerID:
            return spellings(of: value).map { IdentifierPattern(bytes: $0, boundary: .word) }
        }
    }

    /// A value as it is and as programs write it into URLs, URLs within URLs and JSON.
    private static func spellings(of value: [UInt8]) -> [[UInt8]] {
        let once = EscapedSpelling.url(value)
        // By hand, and by programs that leave what a query may hold.
        let sign = value.flatMap { $0 == UInt8(ascii: "@") ? Array("%40".utf8) : [$0] }
        var all: [[UInt8]] = []
        for spelling in [value, sign, once, EscapedSpelling.url(once), EscapedSpelling.json(value)]
        where !all.contains(spelling) {
            all.append(spelling)
        }
        return all
    }

    /// Whether the bytes at `start` are this pattern, and no part of a longer word.
    func matches(_ text: UnsafeRawBufferPointer, at start: Int) -> Bool {
        let end = start + bytes.count
        guard end <= text.count else { return false }
        for offset in bytes.indices where text[start + offset].asciiLowercased != bytes[offset] {
            return false
        }
        switch boundary {
        case .none:
            return true
        case .digits:
            return !EscapedSpelling.isPreceded(at: start, in: text, by: \.isASCIIDigit)
                && !(end < text.count && text[end].isASCIIDigit)
        case .word:
            return !EscapedSpelling.isPreceded(at: start, in: text, by: \.isWord)
                && !(end < text.count && text[end].isWord)
        case .email:
            if EscapedSpelling.isPreceded(at: start, in: text, by: { $0.isWord || Self.localPart.contains($0) }) {
                return false
            }
            guard end < text.count else { return true }
            if text[end].isWord { return false }
            let separator = text[end] == UInt8(ascii: ".") || text[end] == UInt8(ascii: "-")
            // "anna@x.de." ends a sentence, "anna@x.de.example" is another address.
            return !(separator && end + 1 < text.count && text[end + 1].isWord)
        }
    }

    /// What a local part is made of besides letters and digits, less what quotes or joins addresses in text.
    private static let localPart: Set<UInt8> = Set("._+-!#$*^~|".utf8)
}

extension UInt8 {
    /// The lower-case form of an ASCII letter, and every other byte as it is.
    var asciiLowercased: UInt8 {
        self &- 65 < 26 ? self | 0x20 : self
    }

    /// An ASCII digit.
    var isASCIIDigit: Bool { self &- 48 < 10 }

    /// What a hexadecimal digit stands for.
    var hexValue: UInt8? {
        if isASCIIDigit { return self - 48 }
        let letter = (self | 0x20) &- 97
        return letter < 6 ? letter + 10 : nil
    }

    /// An ASCII letter or digit, or a part of a character beyond ASCII, which may be a letter.
    var isWord: Bool { isASCIIDigit || (self | 0x20) &- 97 < 26 || self >= 0x80 }
}
