import AccountLifecycle
import ArgumentParser
import Terminal

/// Shows the progress of a transfer, which is also the plan before it begins.
struct AppleTransferStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how many users there are to move, how far each is, and which need a decision.",
        discussion: """
            New users of the recipient's team need no transfer identifier. Those who came after the first exchange, or
            whose identifier at Apple is known here, are counted as newcomers; those who came earlier are counted among
            users without an identifier.

            The first thousand accounts with a conflict are named, each with the account that has the new sub or
            address.

            EXAMPLES
              accountctl apple transfer status com.example.app --team ABCDE12345
            """,
        aliases: ["plan"]
    )

    static let outputFields = [
        "waiting", "newcomers", "seen", "generated", "exchanged", "applied", "refused", "conflict",
        "conflict_accounts",
    ]

    /// The maximum number of conflicts that are listed.
    private static let named = 1000

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try context.requireClientID(options)
        let transfer = options.transfer
        let (status, conflicts) = try await context.withDatabase { pool in
            let books = TransferBooks(pool: pool, transfer: transfer)
            return (try await books.status(), try await books.conflicts(atMost: Self.named))
        }
        try context.output.show(
            Sheet([
                .init(
                    .facts([
                        .init("waiting", "Without a transfer identifier", .integer(status.waiting)),
                        .init("newcomers", "Came since the transfer, and need none", .integer(status.newcomers)),
                        .init("seen", "Seen as moving by a device", .integer(status.seen)),
                        .init("generated", "With a transfer identifier, not exchanged yet", .integer(status.generated)),
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
                ),
                .init(
                    "conflict_accounts",
                    title: "To be decided",
                    .table(
                        [TableColumn("Account"), TableColumn("Because of"), TableColumn("The other account")],
                        rows: conflicts.map { [.uuid($0.user), .text($0.reason.rawValue), .uuid($0.other)] },
                        names: ["user_id", "reason", "other_user_id"]
                    )
                ),
            ])
        )
        return .ok
    }
}
