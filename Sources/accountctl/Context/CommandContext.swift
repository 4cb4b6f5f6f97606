import EventThread
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The environment of a command: its output, prompts, settings and database.
struct CommandContext: Sendable {
    /// The options every command takes.
    let global: GlobalOptions
    /// The environment variables of the process.
    let environment: [String: String]
    /// Standard output, for data only.
    let output: Output
    /// Whether the command can prompt for an answer.
    let isInteractive: Bool
    /// The clock of this machine.
    let now: @Sendable () -> Date
    /// The single thread that the whole command runs on; nil if it uses several.
    var thread: EventThread?
    /// The settings, read once per run.
    var cache = SettingsCache()
    /// The hash key for acts, set once the command has an operator.
    let actingKey = ActingKey()

    /// Standard error, for messages to the operator.
    var messages: Messages { output.messages }

    /// Asks for confirmation of a reversible operation, unless the command line said `yes`; throws if the answer is no.
    ///
    /// - Throws: ``PromptRefusal``.
    func confirm(_ question: String, yes: Bool) throws {
        let place = try checkedSettings().settings.environmentName.map { "[\($0)] " } ?? ""
        try prompter(assumesYes: yes).confirm(place + question)
    }

    /// Asks the operator to type the id before an irreversible operation.
    ///
    /// - Parameters:
    ///   - question: the operation and its target.
    ///   - id: the full id that has to be typed or given with `--confirm`.
    ///   - options: the answers given on the command line.
    /// - Throws: ``PromptRefusal``; ``CommandError`` if the environment is production and `--production` is missing;
    ///   `SettingsError` if the settings leave it in doubt whether the environment is production.
    func confirmIrreversible(_ question: String, id: String, _ options: ConfirmOptions) throws {
        let settings = try settings(needing: [])
        if settings.environment.isProduction, !options.production {
            let name = settings.environmentName.map { "the environment \($0)" } ?? "this environment"
            throw CommandError(
                .usage,
                "\(name) is a production environment: irreversible commands need --production",
                hint: "The setting production decides; accountctl config show says where it comes from."
            )
        }
        let place = settings.environmentName.map { "[\($0)] " } ?? ""
        try prompter(assumesYes: false).typed(id, given: options.confirm, question: place + question)
    }

    /// A progress line on standard error.
    func progress(_ label: String, total: Int?) -> ProgressReporter {
        ProgressReporter(label, total: total, messages: messages)
    }

    private func prompter(assumesYes: Bool) -> Prompter {
        Prompter(isInteractive: isInteractive, assumesYes: assumesYes, messages: messages)
    }
}
