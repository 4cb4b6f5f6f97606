import Settings
import Terminal

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

    /// Standard error, for people.
    var messages: Messages { output.messages }

    /// Asks before something that can be undone, or ends the command when the answer is no.
    ///
    /// - Throws: ``PromptRefusal``.
    func confirm(_ question: String, _ options: WriteOptions) throws {
        let place = Settings.check(try settingsInputs()).settings.environmentName.map { "[\($0)] " } ?? ""
        try prompter(assumesYes: options.yes).confirm(place + question)
    }

    /// Asks for the id before something that cannot be undone.
    ///
    /// - Parameters:
    ///   - question: what is about to happen, and to what.
    ///   - id: the full id that has to be typed or given with `--confirm`.
    ///   - options: what the command line already answered.
    /// - Throws: ``PromptRefusal``, also when the environment is production and `--production` was not given.
    func confirmIrreversible(_ question: String, id: String, _ options: ConfirmOptions) throws {
        let settings = Settings.check(try settingsInputs()).settings
        if settings.environment.isProduction, !options.production {
            throw PromptRefusal(code: .nobodyToAsk, flag: "--production (this environment is marked as production)")
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
