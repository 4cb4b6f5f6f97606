/// A command that does one thing to one account, or to one deletion request.
///
/// Such commands differ in what they do and agree in how: find what the term names, ask, act, tell; a dry run undoes
/// the act. The way is ``CommandContext/carryOut(_:on:_:_:)``; a command names its target, its kind of consent and its
/// act.
protocol ActCommand: AccountctlCommand {
    associatedtype Target: ActTarget
    associatedtype Consent: ConsentOptions

    /// What is acted on, by whom and why, and what was answered beforehand.
    var options: ActOptions<Target, Consent> { get }

    /// What is done.
    ///
    /// - Throws: ``CommandError`` when the command line lacks something, before anything is looked up.
    func act(in context: CommandContext) throws -> Act<Target.Outcome>
}

extension ActCommand {
    var global: GlobalOptions { options.global }

    static var outputFields: [String] { [Target.idField.name, ActOutcome.field] }

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.carryOut(try act(in: context), on: options.target, options.acting, options.consent)
    }
}
