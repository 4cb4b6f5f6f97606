import ArgumentParser
import Postgres
import Settings
import Terminal

/// Shows every setting with its value and source.
struct ConfigShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show every setting, its value and where it came from.",
        discussion: """
            Secrets are never shown, only where they come from.

            EXAMPLES
              accountctl config show
              accountctl config show --json key,value,source
            """
    )

    private static let fields: [Field<SettingsReader.Declaration>] = [
        Field("key", "Key") { .text($0.key) },
        Field("value", "Value") { .text(shown($0)) },
        Field("source", "Source") { .text($0.source.description) },
        Field("default", nil) { .text($0.standard) },
        Field("form", nil) { .text($0.form) },
        Field("variable", nil) { .text(SettingsInputs.variable(of: $0.key)) },
        // Not in the table: sentences would leave no room for the sources of the values.
        Field("meaning", nil) { .text($0.help) },
    ]

    static let outputFields = fields.map(\.name)

    /// The value; for a connection string, what libpq parses from it, without passwords.
    private static func shown(_ declaration: SettingsReader.Declaration) -> String? {
        guard declaration.key == "database.url" else { return declaration.value }
        return declaration.value.map { ConnectionConfiguration(conninfo: $0).description }
    }

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (settings, problems) = try context.checkedSettings()
        try context.output.list(settings.declarations, Self.fields)
        if context.output.format == .table { context.tellOfMissingFile() }
        if !problems.isEmpty {
            context.messages.warning("the settings have problems: accountctl config check names them")
        }
        return .ok
    }
}
