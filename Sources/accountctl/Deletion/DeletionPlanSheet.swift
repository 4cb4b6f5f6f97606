import AccountLifecycle
import Postgres
import Terminal

/// The effects of an account's deletion, as one screen.
struct DeletionPlanSheet {
    /// The definition of shared files, for the help text.
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

    /// The account, the request to Apple, and any legal hold.
    private var facts: Sheet.Section {
        Sheet.Section(
            .facts([
                .init("user_id", "User id", .uuid(preview.user)), .init("apple", "Apple", .text(apple)),
                .init("held", "Legal hold", .bool(preview.isHeld), preview.isHeld ? .bad : .none),
            ])
        )
    }

    /// The revocations that Apple will be asked for.
    private var apple: String {
        if !preview.clientIDs.isEmpty { return "revoke for \(preview.clientIDs.joined(separator: ", "))" }
        return preview.hasAppleIdentity ? "no credential is held: nothing can be revoked" : "not used"
    }

    /// The rows that will be deleted.
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

    /// The Storage objects that will be deleted, by bucket.
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

    /// The identifiers that will be searched for after the deletion.
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

    /// Triggers and rules that fire when rows are deleted.
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

    /// Whatever may refuse the deletion and was not tried.
    private var untried: Sheet.Section {
        Sheet.Section(
            "untried",
            title: "Not checked whether they refuse",
            .notes(preview.untried.map(\.description), .caution)
        )
    }

    /// Foreign keys without an index, which make each deletion slow.
    private var unindexed: Sheet.Section {
        Sheet.Section(
            "unindexed",
            title: "Keys without an index: each deletion reads the whole table",
            .notes(preview.unindexed.map { "\($0.table) (\($0.columns.joined(separator: ", ")))" }, .caution)
        )
    }
}
