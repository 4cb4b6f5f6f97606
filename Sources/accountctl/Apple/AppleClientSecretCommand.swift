import ArgumentParser

/// Groups the commands about the static client secret that Supabase keeps for the web flow.
struct AppleClientSecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-secret",
        abstract: "Print, push and inspect the static client secret of Supabase's web sign-in.",
        discussion: """
            Supabase's web sign-in uses one client secret, which expires after six months at the latest. Supabase does
            not warn you: sign-in on the web just stops working. Native sign-in needs no such secret.
            """,
        subcommands: [
            AppleClientSecretPrintCommand.self, AppleClientSecretPushCommand.self, AppleClientSecretInspectCommand.self,
        ]
    )
}
