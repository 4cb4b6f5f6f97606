import ArgumentParser

/// The keys that seal and hash.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create keys for sealing and for keyed hashes.",
        discussion: """
            EXAMPLES
              accountctl keys new 2026-11 --output sealing.keys
            """,
        subcommands: [KeysNewCommand.self]
    )
}
