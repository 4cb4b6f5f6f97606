import AccountLifecycle

/// What in a text that is kept for good is personal data by its form, or would open something to whoever reads it.
///
/// The operators' log outlives the accounts, and nothing of it can be taken back: an erasure would find it there and
/// never end. Only forms that nothing harmless has are refused here; what is an account's own is refused by comparison
/// where its line is written.
enum PersonalText {
    /// What the text is.
    enum Purpose {
        /// Words.
        case words
        /// A ticket: its number, or a link whose path is the ticket system's own.
        case ticket
    }

    /// What it holds; nil for a text that may be kept.
    static func suspicion(in text: String, as purpose: Purpose) -> String? {
        // As the query of a URL has them.
        let plain = text.replacing("%40", with: "@").replacing("%2B", with: "+").replacing("%2b", with: "+")
        if holdsAddress(plain) { return "an e-mail address" }
        if holdsAppleSub(plain) { return "an id at Apple" }
        let open = purpose == .ticket ? withoutPaths(plain) : plain
        if holdsUUID(open, as: purpose) { return "the id of an account" }
        if holdsToken(open) { return "a token" }
        return holdsPhoneNumber(open) ? "a phone number" : nil
    }

    /// A local part, an at sign and a domain with a dot in it; a version such as `tool@1.2.3` is none.
    private static func holdsAddress(_ text: String) -> Bool {
        text.indices.contains { at in
            guard text[at] == "@", let before = text[..<at].last, isPartOfName(before) || "_%+-.!#$&*~".contains(before)
            else { return false }
            let host = text[text.index(after: at)...].prefix { isPartOfName($0) || $0 == "-" || $0 == "." }
            let labels = host.split(separator: ".")
            guard labels.count > 1, let top = labels.last else { return false }
            return top.allSatisfy(\.isLetter) || top.lowercased().hasPrefix("xn--")
        }
    }

    /// `001234.0123456789abcdef0123456789abcdef.0123`, wherever it stands.
    private static func holdsAppleSub(_ text: String) -> Bool {
        holdsDigits([6, 32, 4], joinedBy: ".", in: text) { LookupTerm.isAppleSub($0.lowercased()) }
    }

    /// The id of a request looks the same and is refused, too; without dashes some tickets have such numbers.
    private static func holdsUUID(_ text: String, as purpose: Purpose) -> Bool {
        holdsDigits([8, 4, 4, 4, 12], joinedBy: "-", in: text)
            || (purpose == .words && holdsDigits([32], joinedBy: "-", in: text))
    }

    /// Whether whole runs of hexadecimal digits have these lengths, one after the other.
    private static func holdsDigits(
        _ lengths: [Int],
        joinedBy joint: Character,
        in text: String,
        where isMeant: (Substring) -> Bool = { _ in true }
    ) -> Bool {
        let runs = text.split { !($0.isASCII && $0.isHexDigit) }
        return runs.indices.dropLast(lengths.count - 1).contains { first in
            let chosen = runs[first...].prefix(lengths.count)
            guard chosen.map(\.count) == lengths, let start = chosen.first?.startIndex, let end = chosen.last?.endIndex
            else { return false }
            let isJoined = zip(chosen, chosen.dropFirst()).allSatisfy { left, right in
                text[left.endIndex..<right.startIndex].elementsEqual([joint])
            }
            return isJoined && isMeant(text[start..<end])
        }
    }

    private static let tokenStarts = [
        "eyJ", "sb_secret_", "sbp_", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk_live_",
    ]

    /// Whether the text holds a token, by how such things start.
    private static func holdsToken(_ text: String) -> Bool {
        text.contains("-----BEGIN")
            || text.split { !($0.isASCII && isPartOfName($0)) && !"_.-".contains($0) }.contains { word in
                word.utf8.count >= 16 && tokenStarts.contains { word.hasPrefix($0) }
            }
    }

    /// A plus sign that begins a word, and at least eight digits with what people put between them.
    private static func holdsPhoneNumber(_ text: String) -> Bool {
        text.indices.contains { plus in
            guard text[plus] == "+", !(text[..<plus].last.map(isPartOfName) ?? false) else { return false }
            let number = text[text.index(after: plus)...].prefix { isDigit($0) || " \u{A0}()-./".contains($0) }
            return number.count(where: isDigit) >= 8
        }
    }

    /// The text less the paths of its links: the names that another system gives its own things are as long and as
    /// mixed as any token.
    private static func withoutPaths(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).map { word in
            guard let mark = word.firstRange(of: "://"),
                ["http", "https"].contains(where: word[..<mark.lowerBound].lowercased().hasSuffix)
            else { return String(word) }
            let rest = word[mark.upperBound...]
            guard let path = rest.firstIndex(where: { "/?#".contains($0) }), rest[path] == "/" else {
                return String(word)
            }
            let query = rest[path...].firstIndex { "?#".contains($0) } ?? word.endIndex
            return word[..<path] + " " + word[query...]
        }
        .joined(separator: " ")
    }

    private static func isPartOfName(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
}
