import ArgumentParser

/// Groups the commands about the keys that seal and hash.
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create keys for sealing and for keyed hashes.",
        discussion: """
            WHEN A KEY WAS STOLEN
              1. Run accountctl deletion pause --all, and revoke the database login of whoever has the key now: without
              the database, a sealing key opens nothing. accountctl audit list --since 7d shows what was done meanwhile.
              2. Replace a sealing key as accountctl apple vault --help says, and a key of Apple's that lay beside it as
              accountctl apple --help says.
              3. Replace the hash key: accountctl keys new hash-2 --output FILE, and name that file in keys.hash_file
              wherever the old one is named. Run accountctl deletion pause --all again to register it, then restart the
              workers.
              4. Run accountctl deletion resume --all. Keep the old hash file: only it checks receipts from before, and
              finds accounts that were erased before.

            EXAMPLES
              accountctl keys new 2026-11 --output sealing.keys
            """,
        subcommands: [KeysNewCommand.self]
    )
}
