import ArgumentParser
import Sealing
import Settings
import Terminal

/// Makes a new key.
struct KeysNewCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Create a new random key, one line of a key file.",
        discussion: """
            Both files have one key a line: the id, a colon, and 32 bytes in base64. In the sealing file, the newest key
            seals and all of them open. The hash file has exactly one key; another hash key goes into another file. With
            --output, the line goes to a new file that only its owner can read. An existing file is never replaced,
            since what its keys sealed could not be opened again. Without --output, the line is printed.

            EXAMPLES
              accountctl keys new 2026-11 --output /etc/accountctl/sealing.keys
              accountctl keys new 2027-11 --output /etc/accountctl/sealing.keys --append
              accountctl keys new hash-1 --output /etc/accountctl/hash.key
            """
    )

    static let otherWords = ["create", "generate", "keygen"]

    @Argument(help: ArgumentHelp("The key's id: letters, digits, - and _, at most 32.", valueName: "id"))
    var id: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write. Default, and with -: the key is printed.", valueName: "path"),
        completion: .file()
    )
    var output: String?

    @Flag(name: .long, help: "Add the key to an existing sealing file; from then on, it seals.")
    var append = false

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if output?.isEmpty == true { throw ValidationError("--output is empty: name a file, or - to print the key") }
        if append, output == nil || output == "-" {
            throw ValidationError("give --output PATH with --append: the file to add the key to")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        guard let id = KeyID(id) else {
            throw CommandError(.usage, "\"\(id)\" is not a valid key id: expected letters, digits, - and _, at most 32")
        }
        let key = SealingKey.random(id: id)
        if let output, output != "-" {
            if append {
                try refuseHashFile(output, in: context)
                try KeyFile.append(key, to: output)
            } else {
                try await KeyFile.create(output, with: key)
            }
            context.messages.note(
                "The key \(id) is in \(output). Keep a copy of that file elsewhere, before anything needs it."
            )
            return .ok
        }
        if context.output.style.isTerminal {
            context.messages.warning("this line is a secret: write it to a file that only the worker may read")
        }
        try context.output.document(key.fileLine.reveal())
        return .ok
    }

    /// Refuses to append to the hash file, which would be invalid with a second key.
    private func refuseHashFile(_ path: String, in context: CommandContext) throws {
        // Keys may be created before there are settings, or by a user who may not read them: then the hash file is
        // unknown.
        guard let hashFile = try? context.checkedSettings().settings.keys.hashKeyFile,
            KeyFile.isSame(path, as: hashFile)
        else { return }
        throw CommandError(
            .usage,
            "--output: \(path) is the file of keys.hash_file, which holds exactly one key",
            hint: "Name the file of keys.sealing_file, which takes several; another hash key needs a file of its own."
        )
    }
}
