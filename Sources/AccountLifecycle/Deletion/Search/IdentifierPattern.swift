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
            // In the query of a URL the sign stands encoded.
            let encoded = value.flatMap { $0 == UInt8(ascii: "@") ? Array("%40".utf8) : [$0] }
            return [
                IdentifierPattern(bytes: value, boundary: .email),
                IdentifierPattern(bytes: encoded, boundary: .email),
            ]
        case .phone:
            return [IdentifierPattern(bytes: value, boundary: .digits)]
        case .providerID:
            return [IdentifierPattern(bytes: value, boundary: .word)]
        }
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
            return !(start > 0 && text[start - 1].isASCIIDigit) && !(end < text.count && text[end].isASCIIDigit)
        case .word:
            return !Self.continues(before: start, in: text, also: []) && !(end < text.count && text[end].isWord)
        case .email:
            if Self.continues(before: start, in: text, also: Self.localPart) { return false }
            guard end < text.count else { return true }
            if text[end].isWord { return false }
            let separator = text[end] == UInt8(ascii: ".") || text[end] == UInt8(ascii: "-")
            // "anna@x.de." ends a sentence, "anna@x.de.example" is another address.
            return !(separator && end + 1 < text.count && text[end + 1].isWord)
        }
    }

    /// What a local part is made of besides letters and digits, less what quotes or joins addresses in text.
    private static let localPart: Set<UInt8> = Set("._+-!#$*^~|".utf8)

    /// Whether the byte before `start` belongs to the same word.
    private static func continues(
        before start: Int,
        in text: UnsafeRawBufferPointer,
        also others: Set<UInt8>
    ) -> Bool {
        guard start > 0 else { return false }
        let byte = text[start - 1]
        guard byte.isWord || others.contains(byte) else { return false }
        return !endsEscape(before: start, in: text)
    }

    /// Whether the bytes before `start` are the end of a JSON escape, such as the `n` of `\n`, which is no letter.
    private static func endsEscape(before start: Int, in text: UnsafeRawBufferPointer) -> Bool {
        if "bfnrt".utf8.contains(text[start - 1]) {
            return startsEscape(at: start - 2, in: text)
        }
        if start >= 6, text[start - 5] == UInt8(ascii: "u"), (1...4).allSatisfy({ text[start - $0].isASCIIHex }) {
            return startsEscape(at: start - 6, in: text)
        }
        return false
    }

    /// Whether a backslash stands at `index` that no backslash before it escapes.
    private static func startsEscape(at index: Int, in text: UnsafeRawBufferPointer) -> Bool {
        var first = index
        while first >= 0, text[first] == UInt8(ascii: "\\") { first -= 1 }
        return (index - first) % 2 == 1
    }
}

extension UInt8 {
    /// The lower-case form of an ASCII letter, and every other byte as it is.
    var asciiLowercased: UInt8 {
        self &- 65 < 26 ? self | 0x20 : self
    }

    /// An ASCII digit.
    var isASCIIDigit: Bool { self &- 48 < 10 }

    /// An ASCII digit or one of the letters a to f.
    var isASCIIHex: Bool { isASCIIDigit || (self | 0x20) &- 97 < 6 }

    /// An ASCII letter or digit, or a part of a character beyond ASCII, which may be a letter.
    var isWord: Bool { isASCIIDigit || (self | 0x20) &- 97 < 26 || self >= 0x80 }
}
