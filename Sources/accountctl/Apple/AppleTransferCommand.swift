import ArgumentParser

/// Groups the steps of moving an app's users to another team.
struct AppleTransferCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer",
        abstract: "Move an app's users to another developer team.",
        discussion: """
            When an app moves to another team, Apple gives every user a new sub and a new relay address. Old and new
            ones can be matched from the start of the transfer until sixty days after it was accepted, and never again.

            IN THIS ORDER
              1. The sending team, with its own key:    accountctl apple transfer generate CLIENT --team RECIPIENT
              2. The app is transferred in App Store Connect and accepted.
              3. If the recipient has its own database: transfer export, and transfer import there.
              4. The recipient, with its key:           accountctl apple transfer exchange CLIENT --team RECIPIENT
              5. Look, then do:                         accountctl apple transfer apply CLIENT --team RECIPIENT --dry-run

            You can stop and restart every step. Users who revoked before cannot be moved: they are recorded and
            skipped.

            Before step 5, the recipient registers the domains that send your mail with Apple, since the new relay
            addresses take mail only from senders of the new team; relay check says what else mail needs. If people sign
            in on the web, it also runs accountctl apple client-secret push, or print: Supabase's secret is still the
            former team's.
            """,
        subcommands: [
            AppleTransferStatusCommand.self, AppleTransferGenerateCommand.self, AppleTransferExportCommand.self,
            AppleTransferImportCommand.self, AppleTransferExchangeCommand.self, AppleTransferApplyCommand.self,
        ]
    )
}
