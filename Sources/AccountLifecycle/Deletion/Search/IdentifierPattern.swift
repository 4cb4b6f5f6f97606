/// One way in which an identifier can be written: bytes to search for, and the rule that distinguishes it from a longer
/// word.
struct IdentifierPattern: Sendable, Hashable {
    /// ASCII letters in lower case, which match either case; other bytes match exactly.
    let bytes: [UInt8]
    /// Which neighbouring characters make a match a part of something else.
    let boundary: Boundary

    enum Boundary: Sendable, Hashable {
        /// Long and random enough to be nobody else's, wherever it appears.
        case none
        /// No longer local part before, no longer host name after; see ``AddressBoundary``.
        case email
        /// No digit on either side.
        case digits
        /// Nothing on either side that continues a word; see ``Neighbour``.
        case word
    }

    /// The patterns by which an identifier is searched for; none if it is too short.
    static func patterns(of identifier: Identifier) -> [IdentifierPattern] {
        guard identifier.isSearchable else { return [] }
        let value = Array(identifier.value.utf8)
        switch identifier.kind {
        case .userID:
            let dash = UInt8(ascii: "-")
            return [
                IdentifierPattern(bytes: value, boundary: .none),
                IdentifierPattern(bytes: value.filter { $0 != dash }, boundary: .none),
                // As in a path of ltree, whose labels have dashes from PostgreSQL 16 on only.
                IdentifierPattern(bytes: value.map { $0 == dash ? UInt8(ascii: "_") : $0 }, boundary: .none),
            ]
        case .email:
            return spellings(of: identifier.value).map { IdentifierPattern(bytes: $0, boundary: .email) }
        case .phone:
            // With the prefixes for calls from abroad: in most countries, and in North America.
            return ["", "00", "011"].map { prefix in
                IdentifierPattern(bytes: Array(prefix.utf8) + value, boundary: .digits)
            }
        case .providerID:
            return spellings(of: identifier.value).map { IdentifierPattern(bytes: $0, boundary: .word) }
        }
    }

    /// A value as it is, and as programs write it in URLs, in URLs within URLs, in JSON, in JSON within JSON, in composite
    /// values, in Markdown, in HTML and in SQL, in either case.
    private static func spellings(of value: String) -> [[UInt8]] {
        var all: [[UInt8]] = []
        for value in cases(of: value).map({ Array($0.utf8) }) {
            let once = EscapedSpelling.url(value)
            // Only the at sign escaped: as by hand and by programs that leave unescaped what a query may contain, and as
            // in the JSON of some sign-in providers.
            let signs = ["%40", "\\u0040"].map { sign -> [UInt8] in
                value.flatMap { $0 == UInt8(ascii: "@") ? Array(sign.utf8) : [$0] }
            }
            // A plus sign stays in a query, where servers take it for a blank: many apps escape it themselves.
            let query = EscapedSpelling.query(value)
            let plus = query.flatMap { $0 == UInt8(ascii: "+") ? Array("%2b".utf8) : [$0] }
            let plain = [value, once, query, plus]
            let marked = [
                EscapedSpelling.json(value), EscapedSpelling.withinComposite(value), EscapedSpelling.markdown(value),
            ]
            let spellings =
                plain + plain.map(EscapedSpelling.url) + marked + signs + EscapedSpelling.apostrophes(value)
            for spelling in spellings + spellings.map(EscapedSpelling.withinJSON) where !all.contains(spelling) {
                all.append(spelling)
            }
        }
        return all
    }

    /// A value in lower case, with its non-ASCII letters in upper case, and with these in upper case only where words
    /// begin.
    private static func cases(of value: String) -> [String] {
        guard value.utf8.contains(where: { $0 >= 0x80 }) else { return [value] }
        var capitals = ""
        var title = ""
        var isWithinWord = false
        for scalar in value.unicodeScalars {
            let letter = String(scalar)
            let capital = scalar.properties.uppercaseMapping
            // "SS" for "ß" and "I" for "ı" may be somebody else's.
            let own = scalar.isASCII || capital.lowercased() != letter ? letter : capital
            capitals += own
            title += isWithinWord ? letter : own
            isWithinWord = scalar.isWord || scalar.isMark
        }
        // The lower case of this letter is two characters: an i, and a dot above.
        return [value, capitals, title].flatMap { [$0, $0.replacing("i\u{307}", with: "\u{130}")] }
    }

    /// Whether the text at `start` is this pattern, and not a part of a longer word.
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
            return !Neighbour.of(start, in: text, is: { ("0"..."9").contains($0) })
                && !(end < text.count && text[end].isASCIIDigit)
        case .word:
            return !Neighbour.of(start, in: text, is: \.isWord) && !Neighbour.makesLonger(at: end, in: text)
        case .email:
            return AddressBoundary.holds(of: start..<end, in: text)
        }
    }
}
