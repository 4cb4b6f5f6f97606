import ArgumentParser
import Sealing
import Terminal

/// The keys that seal and hash.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Make keys for sealing and for keyed hashes.",
        discussion: """
            EXAMPLES
              (umask 077; accountctl keys new 2026-11 > sealing.keys)
            """,
        subcommands: [KeysNewCommand.self]
    )
}

/// Prints a new key.
struct KeysNewCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Print a new random key, one line for a key file.",
        discussion: """
            Both files have one key a line: the id, a colon, 32 bytes in base64. The newest key of the sealing file seals, all of
            them open; the hash file has exactly one, which is never changed. Write them where only the worker may read.

            EXAMPLES
              (umask 077; accountctl keys new 2026-11 > /etc/accountctl/sealing.keys)
              (umask 077; accountctl keys new hash-1 > /etc/accountctl/hash.key)
            """
    )

    @Argument(help: ArgumentHelp("The key's id: letters, digits, - and _, at most 32.", valueName: "id"))
    var id: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let id = KeyID(id) else {
            throw CommandError(.usage, "\"\(id)\" is no id of a key: letters, digits, - and _, at most 32")
        }
        if context.output.style.isTerminal {
            context.messages.warning("this line is a secret: write it to a file that only the worker may read")
        }
        try context.output.document(SealingKey.random(id: id).fileLine.reveal())
        return .ok
    }
}
