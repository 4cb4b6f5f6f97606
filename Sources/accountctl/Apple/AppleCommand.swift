import ArgumentParser

/// Groups the commands about Sign in with Apple: credentials, events, keys.
struct AppleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Manage Sign in with Apple: credentials, events, keys and secrets.",
        discussion: """
            TO CHANGE THE KEY AT APPLE
              1. Create a second key at Apple: a primary App ID may have two. Set its key_id and private_key_file.
              2. Run accountctl apple test, then restart the workers: they read both when they start.
              3. If people sign in on the web, run accountctl apple client-secret push, or print, for every Services ID.
              4. Then revoke the old key at Apple, not before.

            EXAMPLES
              accountctl apple test                        are client ids, team and key good? Uses nothing up
              accountctl apple credentials list
              accountctl apple events list --outcome waiting
              accountctl apple vault status                which sealing keys are in use
              accountctl apple client-secret inspect -     what is in Supabase's settings, and until when is it good?
            """,
        subcommands: [
            AppleTestCommand.self, AppleCredentialsCommand.self, AppleEventsCommand.self, AppleVaultCommand.self,
            AppleClientSecretCommand.self, AppleTransferCommand.self,
        ]
    )
}
