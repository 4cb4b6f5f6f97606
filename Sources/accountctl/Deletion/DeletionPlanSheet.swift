import AccountLifecycle
import Postgres
import Terminal

/// What the deletion of an account would do, as one screen.
struct DeletionPlanSheet {
    /// Which files are counted as shared, for help.
    static let aboutShared = """
        Shared files are ownerless files that the profile names and that another account names too, or that are older \
        than the account. They stay when the account is deleted, and are not counted among its own files.
        """

    let preview: DeletionPreview

    var sheet: Sheet {
        Sheet([
            facts, .blockers(preview.obstacles, whenEmpty: "none"), tables, objects, identifiers, triggers, untried,
            unindexed,
        ])
    }

    /// The account, what Apple is asked, and whether a hold forbids it.
    private var facts: Sheet.Section {
        Sheet.Section(
            .facts([
                .init("user_id", "User id", .uuid(preview.user)), .init("apple", "Apple", .text(apple)),
                .init("held", "Legal hold", .bool(preview.isHeld), preview.isHeld ? .bad : .none),
            ])
        )
    }

    /// What Apple is asked to do.
    private var apple: String {
        if !preview.clientIDs.isEmpty { return "revoke for \(preview.clientIDs.joined(separator: ", "))" }
        return preview.hasAppleIdentity ? "no credential is held: nothing can be revoked" : "not used"
    }

    /// The rows that go.
    private var tables: Sheet.Section {
        Sheet.Section(
            "tables",
            title: "Rows to delete (counted up to \(BlockerSearch.countLimit))",
            .table(
                [TableColumn("Table"), TableColumn("Rows", alignment: .right), TableColumn("By")],
                rows: preview.tables.map {
                    [.text($0.table.description), .integer($0.rows), .list($0.reachedBy.map { .text($0) })]
                },
                names: ["table", "rows", "reached_by"]
            )
        )
    }

    /// The objects of Storage, by bucket.
    private var objects: Sheet.Section {
        Sheet.Section(
            "objects",
            title: "Files",
            .table(
                [
                    TableColumn("Bucket"), TableColumn("Files", alignment: .right),
                    TableColumn("What happens"), TableColumn("Shared, stay", alignment: .right),
                ],
                rows: preview.buckets.map {
                    [.text($0.name), .integer($0.objects), .text($0.fate.rawValue), .integer($0.shared)]
                },
                names: ["bucket", "objects", "fate", "shared"],
                whenEmpty: "none"
            )
        )
    }

    /// What is searched for once all is gone.
    private var identifiers: Sheet.Section {
        Sheet.Section(
            "identifiers",
            title: "Identifiers to search for afterwards",
            .table(
                [TableColumn("Identifier"), TableColumn("Number", alignment: .right)],
                rows: preview.identifiers.sorted { $0.key < $1.key }
                    .map { [.text($0.key.rawValue), .integer($0.value)] },
                names: ["identifier", "number"]
            )
        )
    }

    /// Triggers and rules that run when rows go.
    private var triggers: Sheet.Section {
        Sheet.Section(
            "triggers",
            title: "Triggers that run",
            .table(
                [TableColumn("Table"), TableColumn("Trigger")],
                rows: preview.triggers.map { [.text($0.table.description), .text($0.name)] },
                names: ["table", "trigger"]
            )
        )
    }

    /// What may refuse, and was not asked.
    private var untried: Sheet.Section {
        Sheet.Section(
            "untried",
            title: "Not checked whether they refuse",
            .notes(preview.untried.map(\.description), .caution)
        )
    }

    /// Keys that make each deletion slow.
    private var unindexed: Sheet.Section {
        Sheet.Section(
            "unindexed",
            title: "Keys without an index: each deletion reads the whole table",
            .notes(preview.unindexed.map { "\($0.table) (\($0.columns.joined(separator: ", ")))" }, .caution)
        )
    }
}
