import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Removes a stream.
struct RelayStreamRemoveCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a mail stream and its history of checks.",
        discussion: """
            The history is gone for good, so the name has to be typed, or given with --confirm.

            EXAMPLES
              accountctl relay stream remove news
              accountctl relay stream remove news --confirm=news
            """
    )

    static let outputFields = ["name", ActOutcome.field]

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @Argument(help: "The name of the stream.")
    var name: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let name = name
        let exists = try await context.withConnection { connection in
            try MailStreamStore.find(named: name, on: connection) != nil
        }
        guard exists else { throw CommandError.noStream(name) }
        var outcome = ActOutcome.wouldBeDone
        if !confirmation.dryRun {
            try context.confirmIrreversible(
                "Remove the stream \(name) and its history for good?",
                id: name,
                confirmation
            )
            let signature = try context.signature(acting)
            let isRemoved = try await context.withConnection { connection in
                try await connection.transaction { connection in
                    let removed = try MailStreamStore.remove(named: name, on: connection)
                    if removed { try signature.log("mail.remove_stream", facts: ["stream": name], on: connection) }
                    return removed
                }
            }
            // Another command may have removed it first.
            outcome = isRemoved ? .done : .unchanged
        }
        try context.output.show(Sheet(facts: [Sheet.Fact("name", "Stream", .text(name)), outcome.fact]))
        return .ok
    }
}
