import AccountLifecycle
import ArgumentParser
import Postgres
import Settings
import Terminal

/// Shows what a deletion would do.
struct DeletionPlanCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what the deletion of an account would delete, and what blocks it.",
        discussion: """
            Reads the catalog's foreign keys and counts rows; changes nothing. These block a deletion: a bucket in
            neither deletion.buckets nor deletion.kept_buckets, if the account has files there; and an ownerless file
            that only the account's profile names, in a folder in neither deletion.avatar_folders nor
            deletion.kept_avatar_folders.

            \(DeletionPlanSheet.aboutShared) The receipt counts them.

            With --ask-triggers, the delete is done and rolled back, since only a trigger itself knows whether it
            refuses, and only the delete shows whether the rows that stay pass their checks. This is not done if a
            trigger may reach outside the database (by http, dblink, a foreign table or an untrusted language), which no
            rollback reverses, if Storage fires it together with the account's files, or if rows, rights or numbers
            block the deletion: such triggers are listed as not checked.

            BLOCKERS
              blocking_rows     rows whose foreign key does not let the account go: delete them, or let it cascade
              refusing_trigger  a trigger that raises an error, or keeps rows: change it, or what it objects to
              unpublishable     a table whose deletes are published: give it a primary key or a replica identity
              idle_key          a foreign key that does not act, so that rows would stay: doctor has the statement
              missing_right     a table that this role may not read or delete from: doctor has the statement
              hidden_rows       row-level security that hides rows from this role: doctor has the statement
              too_large         more rows than deletion.max_rows: raise it, or delete rows beforehand
              undecided_bucket  files of the account in a bucket that no setting names: name it, see above
              undecided_file    an ownerless file in a folder that no setting names: name it, see above
              legal_hold        a hold on the account: user release ends it

            EXIT CODES
              0 nothing blocks the deletion; 3 no such account; 6 something blocks it

            EXAMPLES
              accountctl deletion plan anna@example.com
              accountctl deletion plan anna@example.com --ask-triggers --json blockers
            """
    )

    static let isSequential = true

    static let outputFields = [
        "user_id", "apple", "held", "blockers", "tables", "objects", "identifiers", "triggers", "untried",
        "unindexed",
    ]

    @Argument(help: "Any term that user find accepts.")
    var user: String

    @Flag(name: .long, help: "Ask the triggers, by a delete that is rolled back.")
    var askTriggers = false

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let term = try lookup.term(user)
        let directory = AccountDirectory(hashKey: try context.hashKey())
        let asksTriggers = askTriggers
        let settings = try context.settings(needing: ["database.", "log.", "deletion.", "apple.give_up"])
        let policy = WorkerServices.policy(settings)
        let preview = try await context.withConnection { connection in
            let account = try context.oneAccount(term, in: directory, on: connection)
            return try await DeletionPreview.read(
                account.id,
                policy: policy,
                asksTriggers: asksTriggers,
                on: connection
            )
        }
        guard let preview else { throw CommandError.accountGone }
        try context.output.show(DeletionPlanSheet(preview: preview).sheet)
        if preview.obstacles.isEmpty { return .ok }
        context.messages.note("What ends each blocker: accountctl deletion plan --help")
        return .blocked
    }
}
