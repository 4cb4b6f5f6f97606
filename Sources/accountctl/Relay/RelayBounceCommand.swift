import ArgumentParser

/// Explains refusals by Apple's servers.
struct RelayBounceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bounce",
        abstract: "Explain refusals by Apple's servers.",
        subcommands: [RelayBounceExplainCommand.self]
    )
}
