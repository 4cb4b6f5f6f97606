import AccountLifecycle
import ArgumentParser
import Terminal

/// Gets the transfer identifiers.
struct AppleTransferGenerateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "As the sending team, get a transfer identifier for every user.",
        discussion: """
            Many users refused in a row are a fault of the request, unless somebody whom Apple named before is still named: the run
            stops and records nothing about them. Users of other teams' apps, whom Apple refuses, are recorded and skipped; as long as
            nobody was named, each start begins with others.

            EXIT CODES
              0 every user has one or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer generate com.example.app --team ABCDE12345
              accountctl apple transfer generate com.example.app --team ABCDE12345 --retry-refused
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.run("generate", step, rate, "Transfer identifiers", due: { $0.waiting }) { runs, progress in
            try await runs.generate(progress: progress)
        }
    }
}
