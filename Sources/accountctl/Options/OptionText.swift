import ArgumentParser

/// Texts that are kept: what the database would refuse, or cut, is refused before anything is done.
enum OptionText {
    /// The most that is kept of a reason given for jobs.
    static let jobReason = 500

    /// What the operators' log is not to hold.
    static let logRule =
        "the operators' log is kept for good, takes no personal data and no secrets, and names account and request by itself"

    /// Checks the text of an option.
    ///
    /// - Throws: `ValidationError` that names the option.
    static func check(_ option: String, _ text: String?, limit: Int) throws {
        guard let text else { return }
        if text.allSatisfy(\.isWhitespace) { throw ValidationError("\(option) is empty: give a text or leave it out") }
        // As the database counts.
        let count = text.unicodeScalars.count
        if count > limit { throw ValidationError("\(option) has \(count) characters: at most \(limit) are kept") }
    }

    /// Checks that a text has nothing in it that the operators' log is not to hold.
    ///
    /// - Throws: `ValidationError` that names the option, and does not repeat the text.
    static func refusePersonalData(_ option: String, _ text: String?, as purpose: PersonalText.Purpose) throws {
        guard let text, let what = PersonalText.suspicion(in: text, as: purpose) else { return }
        throw ValidationError("\(option) holds what looks like \(what): \(logRule)")
    }
}
