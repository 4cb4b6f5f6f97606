import Postgres

/// The rows deleted with files that Storage deletes, and the obstacles to that; made from the catalog's foreign keys.
///
/// The plan covers the files of any account and is separate from ``DeletionPlan``: Storage deletes files under its own
/// role and before any row, even before rows that would be deleted with the account.
package struct FilePlan: Sendable, Hashable {
    /// The tables that lose rows with files, and by which keys.
    let going: CascadeReach
    /// Which of these refer to each other.
    private let cycles: TableCycles
    /// Keys to files, and to rows deleted with them, that refuse the delete.
    package let refusing: [ForeignKey]
    /// Keys to files, and to rows deleted with them, that are not in effect: the referring rows would stay.
    package let idle: [ForeignKey]
    /// Keys to files, and to rows deleted with them, that are then set to NULL or a default; of tables that we can
    /// read.
    let changed: [ForeignKey]
    /// Those of the changed keys that are set to NULL, in tables without a trigger that could make a row meet the
    /// checks.
    let checked: [ForeignKey]
    /// Tables that lose rows with files, and refuse that because they are published.
    let refusingDeletes: Set<TableName>
    /// Tables in which rows change with files, and that refuse it.
    let refusingUpdates: Set<TableName>
    /// Triggers and rules that run when Storage deletes files; they run as Storage's role, so we cannot try them.
    package let triggers: [DeletionCatalog.Trigger]
    /// Rights that are missing to see which rows refer to files, and which are deleted with them.
    package let faults: [DeletionCatalog.Fault]

    /// Makes the plan.
    init(_ catalog: DeletionCatalog) {
        let going = CascadeReach(from: [.files], by: catalog.foreignKeys)
        let lost = Set(going.tables)
        let onward = catalog.foreignKeys.filter { lost.contains($0.target) }
        let refusing = onward.filter(\.mayRefuse)
        let changed = onward.filter(\.mayChange)
        let changing = Set(changed.map(\.table))
        let seen = changed.filter { catalog.faults(of: $0.table, isRoot: false).isEmpty }
        self.going = going
        cycles = TableCycles(going.keys)
        self.refusing = refusing
        idle = onward.filter { $0.action != .taken }
        self.changed = seen
        checked = seen.filter { $0.rule == .setNull && !catalog.mayKeepRows(onUpdateOf: $0.table) }
        refusingDeletes = lost.filter { catalog.refusesDeletes(from: $0) }
        refusingUpdates = changing.filter { catalog.refusesUpdates(of: $0) }
        triggers = catalog.triggersThatRun(onDeleteFrom: lost, onUpdateOf: changing)
        faults = lost.union(refusing.map(\.table)).subtracting([.files]).sorted()
            .flatMap { catalog.faults(of: $0, isRoot: false) }
    }

    /// Whether deleting some files may be refused or delete rows, because of a key of any table of the app or of the
    /// files themselves.
    func isAbout(_ objects: [StoredObject]) -> Bool {
        !refusing.isEmpty || !idle.isEmpty || !changed.isEmpty || going.tables.count > 1
            || objects.contains { $0.version == .missing }
    }

    /// The rows that are deleted along with some files, by the keys that cascade.
    func ways(of objects: [StoredObject]) -> CascadeWays {
        CascadeWays(
            keys: going.keys,
            cycles: cycles,
            roots: [.files: CascadeWays.Root(condition: Self.areFiles(objects))],
            followedWithin: Set(going.tables)
        )
    }

    private static func areFiles(_ objects: [StoredObject]) -> Statement {
        let byKey: Statement = """
            (bucket_id, name) in (
                select k.bucket, k.key
                from unnest(\(objects.map(\.bucket)), \(objects.map(\.key))) as k (bucket, key)
            )
            """
        let versions = objects.filter { $0.version != .only }
        guard !versions.isEmpty else { return byKey }
        // One join by key for both kinds of buckets: two, combined by OR, would make the server read all of Storage.
        let buckets = Set(versions.map(\.bucket)).sorted()
        let ids = versions.map { $0.version.id ?? "" }
        return "(\(byKey) and (bucket_id <> all(\(buckets)) or coalesce(version, '') = any(\(ids))))"
    }
}
