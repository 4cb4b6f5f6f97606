import AccountLifecycle
import ArgumentParser
import Terminal

/// Asks Apple for the users' identities in the new team.
struct AppleTransferExchangeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange",
        abstract: "As the recipient, ask Apple who every user is in the new team.",
        discussion: """
            \(TransferRateOptions.aboutRefusals) With the sending team in the settings, Apple is not asked.

            EXIT CODES
              0 everybody who has a transfer identifier is known or cannot be moved, with a warning if users have none;
              2 the configured team is not --team; 3 nothing is known of a transfer to that team; 75 stopped before the
              end: fix what it names, and start it again

            EXAMPLES
              accountctl apple transfer exchange com.example.app --team ABCDE12345
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
        try await context.run(.exchange, step, rate)
    }
}
