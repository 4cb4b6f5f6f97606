import ArgumentParser

/// What refusals by Apple's servers mean.
struct RelayBounceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bounce",
        abstract: "Explain refusals by Apple's servers.",
        subcommands: [RelayBounceExplainCommand.self]
    )
}
