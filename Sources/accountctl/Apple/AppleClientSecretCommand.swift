import ArgumentParser

/// The static client secret that Supabase keeps for the web flow.
struct AppleClientSecretCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client-secret",
        abstract: "Print, push and inspect the static client secret of Supabase's web sign-in.",
        discussion: """
            Supabase's web flow keeps one client secret, which ends after six months at the latest; nobody tells you, sign-in on
            the web just stops. Native sign-in needs none.
            """,
        subcommands: [
            AppleClientSecretPrintCommand.self, AppleClientSecretPushCommand.self, AppleClientSecretInspectCommand.self,
        ]
    )
}
