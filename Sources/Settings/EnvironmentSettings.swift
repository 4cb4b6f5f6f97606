/// Which deployment this is.
package struct EnvironmentSettings: Sendable {
    /// Whether what cannot be undone needs a flag of its own here.
    package let isProduction: Bool

    init(_ reader: inout SettingsReader) {
        let (name, isKnown) = reader.environment
        isProduction = reader.read(
            "production",
            .yesOrNo,
            // A name that nobody wrote down may be a mistyped one of the environment that matters.
            default: name == "production" || !isKnown,
            "Whether commands that cannot be undone need --production. "
                + "Default: yes in the environment of that name, and in one that the file does not know."
        )
    }
}
