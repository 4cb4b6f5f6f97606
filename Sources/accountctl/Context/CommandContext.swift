import EventThread
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a command works with: where its results go, how it asks, which settings and database it uses.
struct CommandContext: Sendable {
    /// The options every command takes.
    let global: GlobalOptions
    /// The variables of the process.
    let environment: [String: String]
    /// Standard output: data and nothing else.
    let output: Output
    /// Whether somebody can be asked.
    let isInteractive: Bool
    /// The clock of this machine.
    let now: @Sendable () -> Date
    /// The one thread that all of the command runs on; nil where it has several.
    var thread: EventThread?
    /// The settings, once they were read.
    var cache = SettingsCache()
    /// What acts are hashed with, once somebody acts.
    let actingKey = ActingKey()

    /// Standard error, for people.
    var messages: Messages { output.messages }

    /// Asks before something that can be undone, or ends the command when the answer is no.
    ///
    /// - Throws: ``PromptRefusal``.
    func confirm(_ question: String, _ options: WriteOptions) throws {
        let place = try checkedSettings().settings.environmentName.map { "[\($0)] " } ?? ""
        try prompter(assumesYes: options.yes).confirm(place + question)
    }

    /// Asks for the id before something that cannot be undone.
    ///
    /// - Parameters:
    ///   - question: what is about to happen, and to what.
    ///   - id: the full id that has to be typed or given with `--confirm`.
    ///   - options: what the command line already answered.
    /// - Throws: ``PromptRefusal``; ``CommandError`` when the environment is production and `--production` was not
    ///   given; `SettingsError` when the settings leave in doubt whether it is.
    func confirmIrreversible(_ question: String, id: String, _ options: ConfirmOptions) throws {
        let settings = try settings(needing: [])
        if settings.environment.isProduction, !options.production {
            let name = settings.environmentName.map { "the environment \($0)" } ?? "this environment"
            throw CommandError(
                .usage,
                "\(name) counts as production: what cannot be undone needs --production here",
                hint: "The setting production decides; accountctl config show tells where it comes from."
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
