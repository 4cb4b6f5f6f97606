import AccountLifecycle
import ArgumentParser
import Postgres
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Shows one account.
struct UserShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the state of one account and the reasons for it.",
        discussion: """
            Accepts the same terms as user find; if it names several accounts, they are listed and none is shown.
            Personal data is masked. Whether an address is one of Apple's relay is known by Apple's own claim first and
            by its domain second, as in user list and relay can-send.

            \(DeletionPlanSheet.aboutShared) If finding them would take too long, among very many profiles, the field is
            empty and they are counted among its own; deletion plan always finds them. Ownerless files in
            deletion.kept_avatar_folders that the profile names belong to the app and are not counted.

            EXIT CODES
              0 shown; 2 the term names several accounts; 3 there is no such account, or it is gone

            EXAMPLES
              accountctl user show anna@example.com
              accountctl user show anna@example.com --reveal --reason "ticket 4711"
              accountctl user show 001234.0123456789abcdef0123456789abcdef.0123 --json id,state,warnings
              accountctl user show anna@example.com --tsv id,state,auth.last_sign_in_at
            """
    )

    static let otherWords = ["info", "inspect", "status", "view"]

    static let sectionFields = AccountSheet.sectionFields

    static let isSequential = true

    static let outputFields = [
        "id", "state", "banned_until", "deleted_at", "request", "step", "situation", "subject", "paused",
        "legal_deadline", "warnings", "auth", "identities", "apple", "relay", "apple_events", "profile", "files",
        "deletions", "jobs", "holds", "app_tables", "operations",
    ]

    @Argument(help: "Any term that user find accepts.")
    var term: String

    @OptionGroup
    var reveal: RevealOptions

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let term = try lookup.term(term)
        let actor = try reveal.actor(acting, in: context)
        let hashKey = try actor?.hashKey ?? context.hashKey()
        let directory = AccountDirectory(hashKey: hashKey)
        let reason = acting.reason
        let settings = try context.settings(needing: [])
        let relayDomains = try context.relayDomains()
        let folders = WorkerServices.policy(settings).avatarFolders
        let report = try await context.withConnection { connection in
            let match = try context.oneAccount(term, in: directory, on: connection)
            let report = try await AccountReport.read(
                match,
                hashKey: hashKey,
                relayDomains: relayDomains,
                folders: folders,
                on: connection
            )
            // Recorded before anything is shown: data whose reveal cannot be recorded is not shown.
            if let actor { try AccountDesk(actor).recordReveal(match.id, reason: reason, on: connection) }
            return report
        }
        guard let report else { throw CommandError.accountGone }
        let sheet = AccountSheet(report: report, now: context.now(), rewrite: context.messages.rewrite).sheet
        try reveal.output(in: context).show(sheet)
        return .ok
    }
}
