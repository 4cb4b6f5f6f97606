import Terminal

/// A problem with one setting.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    /// The key, or the text that should have been a key.
    package let key: String
    /// The source of the value.
    package let source: SettingsSource
    /// What is wrong and what is expected.
    package let message: String
    /// Whether the problem affects only the setting's own purpose, so that it is reported but does not prevent a start.
    package let stopsNothing: Bool

    init(key: String, source: SettingsSource, message: String, stopsNothing: Bool = false) {
        self.key = key
        self.source = source
        self.message = message
        self.stopsNothing = stopsNothing
    }

    package var description: String {
        // An unset key has no source to show.
        source == .standard ? "\(key): \(message)" : "\(source): \(key): \(message)"
    }

    /// Whether the problem makes it uncertain which environment this is, or whether it is production.
    ///
    /// This covers the two settings themselves and any key that may be a misspelling of one of them.
    package var leavesEnvironmentInDoubt: Bool {
        switch source {
        case .variable(let name) where key == name:
            NearestName.of(name, among: ["production", "environment"].map(SettingsInputs.variable)) != nil
        // Only these two settings are outside of sections, and an unreadable line may be either of them.
        default: !key.contains(".")
        }
    }
}

/// All problems with the settings, in one error.
package struct SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    init(_ problems: [SettingsProblem]) {
        self.problems = problems
    }

    /// Throws all problems if any of them prevents a start.
    package static func check(_ problems: [SettingsProblem]) throws(SettingsError) {
        guard problems.allSatisfy(\.stopsNothing) else { throw SettingsError(problems) }
    }

    package var description: String {
        "the settings have \(Wording.count(problems.count, "problem")):\n"
            + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
