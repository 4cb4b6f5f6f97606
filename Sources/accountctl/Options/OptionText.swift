import ArgumentParser

/// Checks texts that are stored: those that the database would refuse or truncate are refused before anything is done.
enum OptionText {
    /// The maximum length of a reason given for jobs, in Unicode scalars.
    static let jobReason = 500

    /// The rule for texts in the operators' log.
    static let logRule =
        "the operators' log is kept for good, must not contain personal data or secrets, and records account and "
        + "request itself"

    /// Checks the text of an option.
    ///
    /// - Throws: `ValidationError` that names the option.
    static func check(_ option: String, _ text: String?, limit: Int) throws {
        guard let text else { return }
        if text.allSatisfy(\.isWhitespace) { throw ValidationError("\(option) is empty: give a text or leave it out") }
        // Counted in Unicode scalars, as the database does.
        let count = text.unicodeScalars.count
        if count > limit { throw ValidationError("\(option) has \(count) characters: at most \(limit) are kept") }
    }

    /// Refuses a text that the operators' log must not contain.
    ///
    /// - Throws: `ValidationError` that names the option and does not repeat the text.
    static func refusePersonalData(_ option: String, _ text: String?, as purpose: PersonalText.Purpose) throws {
        guard let text, let what = PersonalText.suspicion(in: text, as: purpose) else { return }
        throw ValidationError("\(option) contains what looks like \(what): \(logRule)")
    }
}
