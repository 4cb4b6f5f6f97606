import AccountLifecycle
import ArgumentParser
import Terminal

/// Gets the transfer identifiers from Apple.
struct AppleTransferGenerateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "As the sending team, get a transfer identifier for every user.",
        discussion: """
            \(TransferRateOptions.aboutRefusals) Users of other teams' apps, whom Apple refuses, are recorded and
            skipped. Until somebody has been identified, each start begins with other users. With the recipient's team in
            the settings, Apple is not asked.

            EXIT CODES
              0 every user has one or cannot be moved; 2 --team is the configured team, which must be the sending one;
              75 stopped before the end: fix what it names, and start it again

            EXAMPLES
              accountctl apple transfer generate com.example.app --team ABCDE12345
              accountctl apple transfer generate com.example.app --team ABCDE12345 --retry-refused
            """
    )

    static let outputFields = TransferSheet.askFields

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.run(.generate, step, rate)
    }
}
