import Postgres

/// What goes with files that Storage deletes, and what keeps them; made from the catalog's foreign keys.
///
/// It is about the files of any account, and apart from ``DeletionPlan``: Storage deletes them, by its own role and before
/// any row goes, also before those that would go with the account.
package struct FilePlan: Sendable, Hashable {
    /// The tables that lose rows with files, and by which keys.
    let going: CascadeReach
    /// Keys onto files, and onto rows that go with them, which do not let these go.
    package let refusing: [ForeignKey]
    /// Keys onto files, and onto rows that go with them, which do not act: the rows that refer by them would stay.
    package let idle: [ForeignKey]
    /// Keys onto files, and onto rows that go with them, which are set to NULL or a default then; of tables that we see.
    let changed: [ForeignKey]
    /// Those that are set to NULL, of tables where no trigger may make a row meet the checks all the same.
    let checked: [ForeignKey]
    /// Tables that lose rows with files, and refuse that, being published.
    let refusingDeletes: Set<TableName>
    /// Those that change rows with files, and refuse that.
    let refusingUpdates: Set<TableName>
    /// Triggers and rules that run where Storage deletes files, as Storage's role: nothing of ours can ask them.
    package let triggers: [DeletionCatalog.Trigger]
    /// Rights that are missing to see what refers by these, and what goes.
    package let faults: [Blocker]

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

    /// Whether anything may keep some files, or go with them: by a key of any table of the app, or themselves.
    func isAbout(_ objects: [StoredObject]) -> Bool {
        !refusing.isEmpty || !idle.isEmpty || !changed.isEmpty || going.tables.count > 1
            || objects.contains { $0.version == .missing }
    }

    /// The rows that go with some files, by the keys that cascade.
    func ways(of objects: [StoredObject]) -> CascadeWays {
        CascadeWays(
            keys: going.keys,
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
        // One join by key for both kinds of bucket: two joined by OR would have the server read all of Storage.
        let buckets = Set(versions.map(\.bucket)).sorted()
        let ids = versions.map { $0.version.id ?? "" }
        return "(\(byKey) and (bucket_id <> all(\(buckets)) or coalesce(version, '') = any(\(ids))))"
    }
}
