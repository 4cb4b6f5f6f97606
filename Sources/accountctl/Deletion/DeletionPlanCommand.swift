import AccountLifecycle
import ArgumentParser
import Postgres
import Settings
import Terminal

/// Shows what a deletion would do.
struct DeletionPlanCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what the deletion of an account would take along, and what would stop it.",
        discussion: """
            Reads the catalog's foreign keys and counts; changes nothing. A bucket named by neither deletion.buckets nor
            deletion.kept_buckets stands in the way while the account has objects there. Shared are the files of nobody that the profile
            names and another account names, too: they stay when the account goes, and are not counted among its own; the receipt counts
            them. With --ask-triggers the delete is done and rolled back, since only a trigger itself knows whether it refuses, and only
            the delete whether the rows that stay pass their checks; not where a trigger may reach outside the database (by http, dblink, a foreign table or an untrusted language), which no rollback
            takes back, nor where rows, rights or numbers stand in the way: those are named as not asked.

            EXIT CODES
              0 nothing stands in the way; 3 no such account; 6 something does

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

    @Argument(help: "A user id, e-mail address, phone number, Apple sub or username.")
    var user: String

    @Flag(name: .long, help: "Ask triggers on the way, by a delete that is rolled back.")
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
        guard let preview else { throw CommandError(.notFound, "the account has just gone") }
        try context.output.show(Self.sheet(preview))
        return preview.obstacles.isEmpty ? .ok : .blocked
    }

    private static func sheet(_ preview: DeletionPreview) -> Sheet {
        let apple =
            preview.clientIDs.isEmpty
            ? (preview.hasAppleIdentity ? "no credential is held: nothing can be revoked" : "not used")
            : "revoke for \(preview.clientIDs.joined(separator: ", "))"
        return Sheet([
            .init(
                .facts([
                    .init("user_id", "User id", .uuid(preview.user)), .init("apple", "Apple", .text(apple)),
                    .init("held", "Legal hold", .bool(preview.isHeld), preview.isHeld ? .bad : .none),
                ])
            ),
            .blockers(preview.obstacles, whenEmpty: "nothing"),
            .init(
                "tables",
                title: "Rows that go (counted up to \(BlockerSearch.countLimit))",
                .table(
                    [TableColumn("Table"), TableColumn("Rows", alignment: .right), TableColumn("By")],
                    rows: preview.tables.map {
                        [.text($0.table.description), .integer($0.rows), .list($0.reachedBy.map { .text($0) })]
                    },
                    names: ["table", "rows", "reached_by"]
                )
            ),
            .init(
                "objects",
                title: "Objects",
                .table(
                    [
                        TableColumn("Bucket"), TableColumn("Objects", alignment: .right),
                        TableColumn("What becomes of them"), TableColumn("Shared, stay", alignment: .right),
                    ],
                    rows: preview.buckets.map {
                        [.text($0.name), .integer($0.objects), .text($0.fate.rawValue), .integer($0.shared)]
                    },
                    names: ["bucket", "objects", "fate", "shared"],
                    whenEmpty: "none"
                )
            ),
            .init(
                "identifiers",
                title: "Searched for afterwards",
                .table(
                    [TableColumn("Identifier"), TableColumn("Number", alignment: .right)],
                    rows: preview.identifiers.sorted { $0.key < $1.key }
                        .map { [.text($0.key.rawValue), .integer($0.value)] },
                    names: ["identifier", "number"]
                )
            ),
            .init(
                "triggers",
                title: "Triggers on the way",
                .table(
                    [TableColumn("Table"), TableColumn("Trigger")],
                    rows: preview.triggers.map { [.text($0.table.description), .text($0.name)] },
                    names: ["table", "trigger"]
                )
            ),
            .init(
                "untried",
                title: "Not asked whether they refuse",
                .notes(preview.untried.map(\.description), .caution)
            ),
            .init(
                "unindexed",
                title: "Keys without an index: each deletion reads the whole table",
                .notes(preview.unindexed.map { "\($0.table) (\($0.columns.joined(separator: ", ")))" }, .caution)
            ),
        ])
    }
}
