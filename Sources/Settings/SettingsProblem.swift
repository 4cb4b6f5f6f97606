/// Something wrong with one setting.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    /// The key, or the text that should have been one.
    package let key: String
    /// Where the value stands.
    package let source: SettingsSource
    /// What is wrong, what was expected.
    package let message: String

    package init(key: String, source: SettingsSource, message: String) {
        self.key = key
        self.source = source
        self.message = message
    }

    package var description: String { "\(source): \(key): \(message)" }
}

/// Everything wrong with the settings, in one error.
package struct SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    package init(_ problems: [SettingsProblem]) {
        self.problems = problems
    }

    package var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        return "the settings have \(count):\n" + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
