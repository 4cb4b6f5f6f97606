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
            "Whether irreversible commands need --production. "
                + "Default: yes in the environment of that name, and in one that the file does not know."
        )
    }

    /// Tells where nobody said whether this is production, although it may be: then nothing needs `--production`.
    func checkName(of database: DatabaseSettings, _ reader: inout SettingsReader) {
        guard database.isElsewhere, reader.environment.name == nil, !reader.isSet("production") else { return }
        reader.report(
            "environment",
            "no environment is named, so nothing needs --production: write environment = production, or what it is",
            stopsNothing: true
        )
    }
}
