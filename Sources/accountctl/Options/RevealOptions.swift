import AccountLifecycle
import ArgumentParser
import Terminal

/// Whether personal data is shown as it is, which is recorded.
struct RevealOptions: ParsableArguments {
    static let help: ArgumentHelp =
        "Show personal data as it is; that somebody looked is written to the operators' log."

    @Flag(name: .long, help: Self.help)
    var reveal = false

    /// Who looks; nil when nothing is revealed.
    ///
    /// The look has to be recorded before anything is shown.
    func actor(_ acting: ActingOptions, in context: CommandContext) throws -> Operator? {
        try reveal ? context.actor(acting) : nil
    }

    /// Where the data goes, masked or not.
    func output(in context: CommandContext) -> Output {
        reveal ? context.output.revealing() : context.output
    }
}
