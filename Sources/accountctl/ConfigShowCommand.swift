import ArgumentParser
import Settings
import Terminal

/// Shows every setting with its value and source.
struct ConfigShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show every setting, its value and where that came from.",
        discussion: """
            Secrets are never shown, only where they come from.

            EXAMPLES
              accountctl config show
              accountctl config show --json key,value,source
            """
    )

    private static let fields: [Field<SettingsReader.Declaration>] = [
        Field("key", "Key") { .text($0.key) },
        Field("value", "Value") { .text($0.value.map { PasswordMask.apply(to: $0) }) },
        Field("source", "Source") { .text($0.source.description) },
        Field("default", nil) { .text($0.standard) },
        Field("form", nil) { .text($0.form) },
        Field("variable", nil) { .text(SettingsInputs.variable(of: $0.key)) },
        Field("meaning", "Meaning") { .text($0.help) },
    ]

    static let jsonFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (settings, problems) = Settings.check(try context.settingsInputs())
        try context.output.list(settings.declarations, Self.fields)
        if !problems.isEmpty {
            context.messages.warning("the settings have problems: accountctl config check names them")
        }
        return .ok
    }
}
