import ArgumentParser

/// Sign in with Apple: credentials, events, keys.
struct AppleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Look after Sign in with Apple: credentials, events, keys and secrets.",
        discussion: """
            TO CHANGE THE KEY AT APPLE
              1. Make a second key at Apple: one primary App ID may have two. Set key_id and private_key_file of it.
              2. accountctl apple test, then restart the workers: they read both when they start.
              3. Where people sign in on the web: accountctl apple client-secret push, or print, of every Services ID.
              4. Revoke the old key at Apple, not before.

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
