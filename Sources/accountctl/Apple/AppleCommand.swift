import ArgumentParser

/// Sign in with Apple: credentials, events, keys.
struct AppleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Look after Sign in with Apple: credentials, events, keys and secrets.",
        discussion: """
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
