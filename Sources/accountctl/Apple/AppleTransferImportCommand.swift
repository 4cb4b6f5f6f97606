import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Imports the file of the sending team.
struct AppleTransferImportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Read the file that the sending team exported from standard input.",
        discussion: """
            Empty input is refused, with exit code 2.

            EXAMPLES
              accountctl apple transfer import com.example.app --team ABCDE12345 < transfer.ndjson
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try context.requireClientID(step.options)
        let lines = try TransferFile().lines
        let (options, isDryRun) = (step.options, step.write.dryRun)
        let signature = try context.signature(step.acting)
        let taken = try await context.withConnection { connection in
            try await connection.transaction(rehearsed: isDryRun) { connection in
                let taken = try options.transfer.importLines(lines, on: connection)
                if taken.new > 0 {
                    let facts = options.facts(accounts: taken.new)
                    try signature.log("apple.transfer_import", facts: facts, on: connection)
                }
                return taken
            }
        }
        let share = "\(taken.new) of \(lines.count) lines"
        context.messages.note(isDryRun ? "Would import \(share)." : "\(share) are new.")
        if taken.unknown > 0 {
            context.messages.warning(
                Wording.count(taken.unknown, "line names an account", "lines name accounts")
                    + " that this database does not have"
            )
        }
        return .ok
    }
}
