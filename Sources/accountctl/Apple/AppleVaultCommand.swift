import ArgumentParser

/// Groups the commands about the keys that credentials are sealed with.
struct AppleVaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Show the sealing keys in use, move credentials to the newest one, and give up a lost one.",
        discussion: """
            TO CHANGE THE KEY
              1. Append a line to the file of keys.sealing_file: accountctl keys new ID --output FILE --append. The last line seals.
              2. Restart the workers: they seal with the new key and open with both.
              3. accountctl apple vault rotate
              4. When vault status shows 0 for the old key in every column, you can remove its line.

            WHEN A KEY IS ADDED
              A running worker that meets something sealed with a key that is not in its file reads the file again,
              every ten seconds at most. What waits for the key continues once its line is there: after five minutes at
              the latest, or at once with deletion retry.

            WHEN A KEY IS LOST
              Workers do not start without a key that something is sealed with. Look for a copy first. If there is none,
              accountctl apple vault forget-key KEY gives up what nobody can open any more, and workers start again.
            """,
        subcommands: [
            AppleVaultStatusCommand.self, AppleVaultRotateCommand.self, AppleVaultForgetKeyCommand.self,
        ]
    )
}
