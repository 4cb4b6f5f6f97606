import AccountLifecycle
import ArgumentParser
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes the file for the recipient.
struct AppleTransferExportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the file for the recipient: one JSON object a line with user_id and transfer_sub.",
        discussion: """
            Old subs and relay addresses are not in it: they are not for the recipient.

            EXAMPLES
              accountctl apple transfer export com.example.app --team ABCDE12345 > transfer.ndjson
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try context.requireClientID(options)
        let transfer = options.transfer
        let output = context.output
        try await context.withDatabase { pool in
            try await TransferBooks(pool: pool, transfer: transfer).export { line in
                let text = String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
                try output.document(text + "\n")
            }
        }
        return .ok
    }
}
