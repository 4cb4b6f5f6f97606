import AccountLifecycle
import ArgumentParser
import Terminal

/// Asks who the users are now.
struct AppleTransferExchangeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange",
        abstract: "As the recipient, ask who every user is in the new team.",
        discussion: """
            Many users refused in a row are a fault of the request, unless somebody whom Apple named before is still named: the run
            stops and records nothing about them.

            EXIT CODES
              0 everybody is known or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer exchange com.example.app --team ABCDE12345
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.run("exchange", step, rate, "New identities", due: { $0.generated }) { runs, progress in
            try await runs.exchange(progress: progress)
        }
    }
}
