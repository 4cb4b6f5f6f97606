import AccountLifecycle

/// What in a text that is kept for good looks like personal data, or would open something to whoever reads it.
///
/// The operators' log outlives the accounts, and nothing of it can be taken back: an erasure would find it there and never end. So a
/// text that only looks like it is refused as well.
enum PersonalText {
    /// What texts hold numbers for.
    enum Purpose {
        /// Words: a long number in them is a phone number.
        case words
        /// The number of a ticket.
        case number
    }

    /// What it looks like; nil for a text that may be kept.
    static func suspicion(in text: String, as purpose: Purpose) -> String? {
        if text.contains("-----BEGIN") { return "a token" }
        for word in text.split(whereSeparator: { $0.isWhitespace || "<>()[]{}\"',;=".contains($0) }) {
            if isAddress(word) { return "an e-mail address" }
            let bare = word.drop { !$0.isLetter && !$0.isNumber }
            if LookupTerm.isAppleSub(String(bare.prefix(44))) { return "an id at Apple" }
            if holdsUserID(word, as: purpose) { return "the id of an account" }
            if isToken(word) { return "a token" }
        }
        return PhoneNumbers.isIn(text, as: purpose) ? "a phone number" : nil
    }

    /// The id of a request looks the same and is refused, too; without dashes some tickets have such numbers.
    private static func holdsUserID(_ word: Substring, as purpose: Purpose) -> Bool {
        word.split { !($0.isASCII && ($0.isHexDigit || $0 == "-")) }.contains { part in
            (purpose == .words || part.contains("-")) && LookupTerm(String(part), as: .userID) != nil
        }
    }

    /// A name, an at sign and a domain with a dot in it; a version such as `tool@1.2.3` is none.
    private static func isAddress(_ text: Substring) -> Bool {
        // As the query of a URL has it.
        let word = text.replacing("%40", with: "@")
        guard let at = word.lastIndex(of: "@"), at != word.startIndex else { return false }
        let labels = word[word.index(after: at)...].split(separator: ".")
        return labels.count > 1 && labels.last?.first?.isLetter == true
    }

    private static let tokenStarts = [
        "eyJ", "sb_secret_", "sbp_", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk_live_",
    ]

    /// By how such things start, and by length and mixture.
    ///
    /// Nobody types 24 letters of both cases and digits; the hash of a commit passes.
    private static func isToken(_ word: Substring) -> Bool {
        if word.utf8.count >= 16, tokenStarts.contains(where: { word.hasPrefix($0) }) { return true }
        return word.split(whereSeparator: { !$0.isASCII || !($0.isLetter || $0.isNumber || "+=".contains($0)) })
            .contains { run in
                if run.utf8.count >= 64, run.allSatisfy(\.isHexDigit) { return true }
                // Apple's codes and refresh tokens: a letter and 32 hexadecimal digits.
                if run.utf8.count == 33, run.first == "c" || run.first == "r", run.dropFirst().allSatisfy(\.isHexDigit)
                {
                    return true
                }
                return run.utf8.count >= 24 && run.contains(where: \.isNumber) && run.contains(where: \.isUppercase)
                    && run.contains(where: \.isLowercase)
            }
    }
}

/// Phone numbers among words.
private enum PhoneNumbers {
    /// What people put between the digits.
    private static let between: Set<Character> = [" ", "\u{A0}", "(", ")", "-", ".", "/", "+"]

    static func isIn(_ text: String, as purpose: PersonalText.Purpose) -> Bool {
        var rest = text[...]
        var previous: Character = " "
        while let first = rest.first {
            guard isDigit(first) || first == "+" || first == "(", !isPartOfWord(previous) else {
                previous = first
                rest.removeFirst()
                continue
            }
            let phrase = rest.prefix { isDigit($0) || between.contains($0) }
            rest = rest.dropFirst(phrase.count)
            previous = phrase.last ?? first
            // A number that goes on in letters is no number.
            if let next = rest.first, next.isLetter || next == "_", isDigit(previous) { continue }
            if isPhone(phrase, as: purpose) { return true }
        }
        return false
    }

    private static func isPhone(_ phrase: Substring, as purpose: PersonalText.Purpose) -> Bool {
        let parts = phrase.split { $0 == " " || $0 == "\u{A0}" }.filter { !isDate($0) }
        let number = parts.joined(separator: " ")
        let digits = number.filter(isDigit)
        guard digits.count <= 15 else { return false }
        if number.contains("+") { return digits.count >= 7 }
        if purpose == .number { return false }
        let groups = number.split { !isDigit($0) }.map(\.count)
        return (digits.hasPrefix("0") && digits.count >= 9) || groups == [3, 3, 4] || groups.contains { $0 >= 11 }
    }

    /// `2026-01-02`, `2.1.2026`, `01/02/26`.
    private static func isDate(_ word: Substring) -> Bool {
        let numbers = word.split { ".-/".contains($0) }
        guard numbers.count == 3, numbers.allSatisfy({ $0.allSatisfy(isDigit) }) else { return false }
        let lengths = numbers.map(\.count)
        return lengths[1] <= 2 && [lengths[0], lengths[2]].allSatisfy { $0 <= 2 || $0 == 4 }
            && lengths[0] + lengths[2] <= 6
    }

    private static func isPartOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "._-#/@".contains(character)
    }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
}
