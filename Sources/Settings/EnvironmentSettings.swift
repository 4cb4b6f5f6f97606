/// Which deployment this is.
package struct EnvironmentSettings: Sendable {
    /// Whether what cannot be undone needs a flag of its own here.
    package let isProduction: Bool

    init(_ reader: inout SettingsReader, name: String?) {
        isProduction = reader.read(
            "production",
            .yesOrNo,
            default: name == "production",
            "Whether commands that cannot be undone need --production. Default: yes in the environment of that name."
        )
    }
}
