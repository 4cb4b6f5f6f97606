import AccountLifecycle
import ArgumentParser
import Terminal

/// Writes the file for the recipient.
struct AppleTransferExportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the file for the recipient: one JSON object a line with user_id and transfer_sub.",
        discussion: """
            It does not contain old subs and relay addresses, which are not for the recipient. Users without a transfer
            identifier have no line. Standard error says how many there are; apple transfer status says which of them
            need none.

            EXIT CODES
              0 written; 3 nothing is known of a transfer to that team

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
        try await context.withDatabase { [options] pool in
            let books = TransferBooks(pool: pool, transfer: transfer)
            _ = try await context.begun(books, options)
            try await books.export { line in
                try output.document(Self.text(of: line) + "\n")
            }
        }
        return .ok
    }

    /// One line of the file; always the same for an account, so that two files can be compared.
    static func text(of line: TeamTransfer.Line) -> String {
        JSONText.line(["user_id": .uuid(line.user), "transfer_sub": .text(line.transferIdentifier)])
    }
}
