import ArgumentParser

/// Texts that are kept: what the database would refuse, or cut, is refused before anything is done.
enum OptionText {
    /// The most that is kept of a reason given for jobs.
    static let jobReason = 500

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
}
