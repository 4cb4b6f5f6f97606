import AccountLifecycle
import ArgumentParser
import Terminal

/// Shows how far a transfer is, which is also the plan before it begins.
struct AppleTransferStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how many users there are to move, and how far each is.",
        discussion: """
            EXAMPLES
              accountctl apple transfer status com.example.app --team ABCDE12345
            """,
        aliases: ["plan"]
    )

    static let outputFields = ["waiting", "seen", "generated", "exchanged", "applied", "refused", "conflict"]

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try context.requireClientID(options)
        let transfer = options.transfer
        let status = try await context.withDatabase { pool in
            try await TransferBooks(pool: pool, transfer: transfer).status()
        }
        try context.output.show(
            Sheet([
                .init(
                    .facts([
                        .init("waiting", "Without a transfer identifier", .integer(status.waiting)),
                        .init("seen", "Seen as moving by a device", .integer(status.seen)),
                        .init("generated", "With one", .integer(status.generated)),
                        .init("exchanged", "Known to the recipient", .integer(status.exchanged)),
                        .init("applied", "Moved", .integer(status.applied), .good),
                        .init(
                            "refused",
                            "Cannot be moved (revoked before, or another team's)",
                            .integer(status.refused)
                        ),
                        .init(
                            "conflict",
                            "Have a second account by now, or several identities",
                            .integer(status.conflict),
                            status.conflict > 0 ? .bad : .none
                        ),
                    ])
                )
            ])
        )
        return .ok
    }
}
