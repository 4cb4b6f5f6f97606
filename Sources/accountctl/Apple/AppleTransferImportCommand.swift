import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Takes in the file of the sending team.
struct AppleTransferImportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take in, on standard input, the file that the sending team exported.",
        discussion: """
            EXAMPLES
              accountctl apple transfer import com.example.app --team ABCDE12345 < transfer.ndjson
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let texts = StandardInput.text().split(whereSeparator: \.isNewline)
        let lines = try texts.enumerated().map { index, text in
            guard let line = try? JSONDecoder().decode(TeamTransfer.Line.self, from: Data(text.utf8)) else {
                throw CommandError(.usage, "line \(index + 1) is not an object with user_id and transfer_sub")
            }
            return line
        }
        if step.write.dryRun {
            context.messages.note("Would take in \(lines.count) lines.")
            return .ok
        }
        let transfer = step.options.transfer
        let signature = try context.signature(step.acting)
        let facts = step.options.facts(accounts: lines.count)
        let taken = try await context.withDatabase { pool in
            try await pool.withConnection { try signature.log("apple.transfer_import", facts: facts, on: $0) }
            return try await TransferBooks(pool: pool, transfer: transfer).importLines(lines)
        }
        context.messages.note("\(taken.new) of \(lines.count) lines are new.")
        if taken.unknown > 0 {
            context.messages.warning("\(taken.unknown) name accounts that this database does not have")
        }
        return .ok
    }
}
