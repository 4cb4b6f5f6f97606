import AccountLifecycle
import ArgumentParser
import Terminal

/// Shows how far a transfer is, which is also the plan before it begins.
struct AppleTransferStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how many users there are to move, and how far each is.",
        discussion: """
            New users of the recipient's team need no transfer identifier. Those who came after its first exchange, or whom Apple calls
            by an identifier that is known here, are counted as newcomers; who came before that is among those without one.

            EXAMPLES
              accountctl apple transfer status com.example.app --team ABCDE12345
            """,
        aliases: ["plan"]
    )

    static let outputFields = [
        "waiting", "newcomers", "seen", "generated", "exchanged", "applied", "refused", "conflict",
    ]

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
                        .init("newcomers", "Came since the transfer, and need none", .integer(status.newcomers)),
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
