import AccountLifecycle

/// Finds text that must not be kept for good: personal data recognised by its form, and secrets that would open
/// something to a reader.
///
/// The operators' log outlives the accounts, and no entry can be removed: an erasure would find personal data there and
/// never end. Only forms that no harmless text has are refused here; an account's own data is refused by comparison
/// where the entry is written.
enum PersonalText {
    /// The purpose of a text.
    enum Purpose {
        /// Free text.
        case words
        /// A ticket: its number, or a link whose path belongs to the ticket system.
        case ticket
    }

    /// The kind of text that was found; nil for a text that may be kept.
    static func suspicion(in text: String, as purpose: Purpose) -> String? {
        // These characters are percent-encoded in the query of a URL.
        let plain = text.replacing("%40", with: "@").replacing("%2B", with: "+").replacing("%2b", with: "+")
        if holdsAddress(plain) { return "an e-mail address" }
        if holdsAppleSub(plain) { return "an id at Apple" }
        let open = purpose == .ticket ? withoutPaths(plain) : plain
        if holdsUUID(open, as: purpose) { return "the id of an account" }
        if holdsToken(open) { return "a token" }
        return holdsPhoneNumber(open) ? "a phone number" : nil
    }

    /// Whether the text holds a local part, an at sign and a domain with a dot; a version such as `tool@1.2.3` does not
    /// count.
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

    /// Whether the text holds an Apple sub such as `001234.0123456789abcdef0123456789abcdef.0123` anywhere.
    private static func holdsAppleSub(_ text: String) -> Bool {
        holdsDigits([6, 32, 4], joinedBy: ".", in: text) { LookupTerm.isAppleSub($0.lowercased()) }
    }

    /// Whether the text holds a UUID, such as the id of an account.
    ///
    /// The id of a request looks the same and is refused as well. Without dashes a UUID is allowed in a ticket, since
    /// some ticket numbers have this form.
    private static func holdsUUID(_ text: String, as purpose: Purpose) -> Bool {
        holdsDigits([8, 4, 4, 4, 12], joinedBy: "-", in: text)
            || (purpose == .words && holdsDigits([32], joinedBy: "-", in: text))
    }

    /// Whether the text has consecutive whole runs of hexadecimal digits with these lengths.
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

    /// Whether the text holds a token, recognised by its start.
    private static func holdsToken(_ text: String) -> Bool {
        text.contains("-----BEGIN")
            || text.split { !($0.isASCII && isPartOfName($0)) && !"_.-".contains($0) }.contains { word in
                word.utf8.count >= 16 && tokenStarts.contains { word.hasPrefix($0) }
            }
    }

    /// Whether the text holds a plus sign at the start of a word, followed by at least eight digits with the usual
    /// separators.
    private static func holdsPhoneNumber(_ text: String) -> Bool {
        text.indices.contains { plus in
            guard text[plus] == "+", !(text[..<plus].last.map(isPartOfName) ?? false) else { return false }
            let number = text[text.index(after: plus)...].prefix { isDigit($0) || " \u{A0}()-./".contains($0) }
            return number.count(where: isDigit) >= 8
        }
    }

    /// The text without the paths of its links: identifiers that other systems put there are as long and as mixed as a
    /// token.
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
