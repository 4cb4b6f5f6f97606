import ArgumentParser
import Settings
import Terminal

/// Reports every problem of the settings at once.
struct ConfigCheckCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report every problem of the settings at once.",
        discussion: """
            An error keeps a worker from starting; a warning does not. The contents of key files are checked. Whether
            Apple, Storage and the database accept the keys, and where addresses lead, is for doctor to report. For the
            other environments in the settings file, keys and forms are checked; the contents of their files are checked
            with --environment.

            EXIT CODES
              0 no error; 2 errors

            EXAMPLES
              accountctl config check --config ./accountctl.conf
              accountctl config check --json key,source,message
            """
    )

    static let otherWords = ["validate"]

    private static let fields: [Field<SettingsProblem>] = [
        Field("source", "Source") { .text($0.source.description) },
        Field("key", "Key") { .text($0.key) },
        Field("message", "Problem") { .text($0.message) },
        Field("severity", "Severity") { .text(severity($0)) },
    ]

    /// Whether a problem keeps a worker from starting, in the doctor's words.
    private static func severity(_ problem: SettingsProblem) -> String { problem.stopsNothing ? "warning" : "error" }

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        // Read only once, since the file may be a pipe.
        let inputs = try context.settingsInputs()
        let (settings, told) = Settings.check(inputs)
        let problems = settings.problemsOfParts(besides: told + Settings.problemsElsewhere(inputs))
        // Lines rather than a table: a message is never cut, whatever the width of the terminal.
        if context.output.format == .table {
            for problem in problems {
                try context.output.document(Self.severity(problem) + ": " + SafeText.line(problem.description))
            }
            if problems.isEmpty { context.messages.note("The settings are valid.") }
            if !problems.isEmpty { context.tellOfMissingFile() }
            let others = inputs.otherEnvironments
            if !others.isEmpty {
                // Not as a command: this run's own --environment would be added to it.
                context.messages.note(
                    "Of \(Wording.list(others)), only keys and forms were checked; --environment NAME checks all of one."
                )
            }
        } else {
            try context.output.list(problems, Self.fields)
        }
        return problems.allSatisfy(\.stopsNothing) ? .ok : .usage
    }
}
