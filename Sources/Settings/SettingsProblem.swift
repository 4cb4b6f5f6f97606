import Terminal

/// Something wrong with one setting.
package struct SettingsProblem: Sendable, Hashable, CustomStringConvertible {
    /// The key, or the text that should have been one.
    package let key: String
    /// Where the value stands.
    package let source: SettingsSource
    /// What is wrong, what was expected.
    package let message: String
    /// Whether all but what the setting itself is for works with it: it is told, and keeps nobody from starting.
    package let stopsNothing: Bool

    init(key: String, source: SettingsSource, message: String, stopsNothing: Bool = false) {
        self.key = key
        self.source = source
        self.message = message
        self.stopsNothing = stopsNothing
    }

    package var description: String {
        // What nobody set stands nowhere.
        source == .standard ? "\(key): \(message)" : "\(source): \(key): \(message)"
    }

    /// Whether it leaves in doubt which environment this is, or whether it is production.
    ///
    /// Besides the two settings themselves that is anything that may have been meant for one of them.
    package var leavesEnvironmentInDoubt: Bool {
        switch source {
        case .variable(let name) where key == name:
            NearestName.of(name, among: ["production", "environment"].map(SettingsInputs.variable)) != nil
        // No other setting stands outside a section, and a line that cannot be read may be any.
        default: !key.contains(".")
        }
    }
}

/// Everything wrong with the settings, in one error.
package struct SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    package let problems: [SettingsProblem]

    init(_ problems: [SettingsProblem]) {
        self.problems = problems
    }

    /// Throws where one of these problems stops something; then with all.
    package static func check(_ problems: [SettingsProblem]) throws(SettingsError) {
        guard problems.allSatisfy(\.stopsNothing) else { throw SettingsError(problems) }
    }

    package var description: String {
        "the settings have \(Wording.count(problems.count, "problem")):\n"
            + problems.map { "  \($0)" }.joined(separator: "\n")
    }
}
