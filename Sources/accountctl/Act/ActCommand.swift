/// A command that performs one act on one account or one deletion request.
///
/// All such commands take the same steps in ``CommandContext/carryOut(_:on:_:_:)``: resolve the target, ask for
/// confirmation, perform the act, report its outcome; a dry run rolls the act back. A conforming command provides its
/// target, its consent options and its act.
protocol ActCommand: AccountctlCommand {
    associatedtype Target: ActTarget
    associatedtype Consent: ConsentOptions

    /// The target, the operator and reason, and the answers given in advance.
    var options: ActOptions<Target, Consent> { get }

    /// Builds the act from the command line.
    ///
    /// - Throws: ``CommandError`` if the command line is incomplete, before any lookup.
    func act(in context: CommandContext) throws -> Act<Target.Outcome>
}

extension ActCommand {
    var global: GlobalOptions { options.global }

    static var outputFields: [String] { [Target.idField.name, ActOutcome.field] }

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.carryOut(try act(in: context), on: options.target, options.acting, options.consent)
    }
}
