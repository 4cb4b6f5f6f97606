import ArgumentParser

/// The group of commands for the deletion of accounts.
struct DeletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deletion",
        abstract: "Delete accounts, follow their deletion, and prove it.",
        discussion: """
            Name a request by its own id, by the user id or e-mail address of its account, or by the number of its
            receipt.

            EXAMPLES
              accountctl deletion plan anna@example.com     what would go, and what would stop it
              accountctl deletion request anna@example.com --reason "asked by mail"
              accountctl deletion list                      the nearest legal deadline first
              accountctl deletion show 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
              accountctl deletion pause --all               stop before each irreversible step
              accountctl deletion receipt 42
              accountctl deletion export --output erasures-$(date +%F).ndjson  to be kept elsewhere, and replayed after a restore
            """,
        subcommands: [
            DeletionRequestCommand.self, DeletionPlanCommand.self, DeletionListCommand.self, DeletionShowCommand.self,
            DeletionCancelCommand.self, DeletionRetryCommand.self, DeletionPauseCommand.self,
            DeletionResumeCommand.self, DeletionProceedCommand.self, DeletionAcceptCommand.self,
            DeletionRehearseCommand.self,
            DeletionReceiptCommand.self, DeletionWatchCommand.self, DeletionExportCommand.self,
            DeletionReplayCommand.self,
        ],
        aliases: ["deletions"]
    )
}
