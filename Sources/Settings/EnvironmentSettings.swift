/// The deployment that the settings are for.
package struct EnvironmentSettings: Sendable {
    /// Whether irreversible commands need a flag of their own here.
    package let isProduction: Bool

    init(_ reader: inout SettingsReader) {
        let (name, isKnown) = reader.environment
        isProduction = reader.read(
            "production",
            .yesOrNo,
            // An unknown name may be a misspelling of production.
            default: name == "production" || !isKnown,
            "Whether irreversible commands need --production. "
                + "Default: yes in the environment of that name, and in one that the file does not know."
        )
    }

    /// Reports a database that may be production if no setting says so, since nothing would then need `--production`.
    func checkName(of database: DatabaseSettings, _ reader: inout SettingsReader) {
        guard database.isElsewhere, reader.environment.name == nil, !reader.isSet("production") else { return }
        reader.report(
            "environment",
            "no environment is named, so nothing needs --production: write environment = production, or the name of "
                + "this one",
            stopsNothing: true
        )
    }
}
