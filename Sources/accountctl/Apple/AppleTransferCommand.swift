import ArgumentParser

/// Moving an app's users to another team.
struct AppleTransferCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer",
        abstract: "Move an app's users to another developer team.",
        discussion: """
            Apple gives every user a new sub, and a new relay address, when an app changes teams. From the start of the transfer
            until sixty days after it was accepted the two can be matched; after that, never.

            IN THIS ORDER
              1. The sending team, with its own key:    accountctl apple transfer generate CLIENT --team RECIPIENT
              2. The app is transferred in App Store Connect and accepted.
              3. Where the recipient has a database of its own: transfer export, and transfer import there.
              4. The recipient, with its key:           accountctl apple transfer exchange CLIENT --team RECIPIENT
              5. Look, then do:                         accountctl apple transfer apply CLIENT --team RECIPIENT --dry-run

            Every step may be stopped and started again. Users who revoked before cannot be moved: they are recorded and skipped.
            """,
        subcommands: [
            AppleTransferStatusCommand.self, AppleTransferGenerateCommand.self, AppleTransferExportCommand.self,
            AppleTransferImportCommand.self, AppleTransferExchangeCommand.self, AppleTransferApplyCommand.self,
        ]
    )
}
