import ArgumentParser

/// Groups the commands about the operators' log.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Read the operators' log.",
        discussion: """
            The log only grows. It names accounts by keyed hashes, so it outlives an erasure.

            EXAMPLES
              accountctl audit list --since 7d
              accountctl audit list --user anna@example.com
              accountctl audit show 42
            """,
        subcommands: [AuditListCommand.self, AuditShowCommand.self]
    )
}
