import AccountLifecycle
import ArgumentParser
import Terminal

/// The option to show personal data unmasked, which is recorded.
struct RevealOptions: ParsableArguments {
    static let help: ArgumentHelp =
        "Show personal data as it is; that somebody looked is written to the operators' log."

    @Flag(name: .long, help: Self.help)
    var reveal = false

    /// The operator who reveals the data; nil if nothing is revealed.
    ///
    /// The caller has to record the reveal before anything is shown.
    func actor(_ acting: ActingOptions, in context: CommandContext) throws -> Operator? {
        try reveal ? context.actor(acting) : nil
    }

    /// The output, which masks personal data unless it is revealed.
    func output(in context: CommandContext) -> Output {
        reveal ? context.output.revealing() : context.output
    }
}
