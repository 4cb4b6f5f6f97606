import Postgres

/// What the delete of files by Storage takes along, and what keeps it from that.
extension DeletionPlan {
    /// Whether anything may keep some files, or go with them: by a key of any table of the app, or themselves.
    func isAbout(_ objects: [StoredObject]) -> Bool {
        !ontoFiles.isEmpty || !changedWithFiles.isEmpty || goingWithFiles.tables.count > 1
            || objects.contains(where: \.isNamedByNoCall)
    }

    /// The rows that go with some files, by the keys that cascade.
    func ways(of objects: [StoredObject]) -> CascadeWays {
        CascadeWays(
            keys: goingWithFiles.keys,
            roots: [.files: CascadeWays.Root(condition: Self.areFiles(objects))],
            followedWithin: Set(goingWithFiles.tables)
        )
    }

    private static func areFiles(_ objects: [StoredObject]) -> Statement {
        let byKey: Statement = """
            (bucket_id, name) in (
                select k.bucket, k.key
                from unnest(\(objects.map(\.bucket)), \(objects.map(\.key))) as k (bucket, key)
            )
            """
        let versions = objects.filter { $0.version != nil }
        guard !versions.isEmpty else { return byKey }
        // One join by key for both kinds of bucket: two joined by OR would have the server read all of Storage.
        let buckets = Set(versions.map(\.bucket)).sorted()
        let ids = versions.compactMap(\.version)
        return "(\(byKey) and (bucket_id <> all(\(buckets)) or coalesce(version, '') = any(\(ids))))"
    }

    /// What would keep some files from being deleted: rows that refer to them, or to rows that go with them, by a key
    /// that does not let these go; rows that the server would not let go, or stay without their file; more rows of one table
    /// than a run may take along; and that no call names them.
    ///
    /// Files go before any row, also before rows that would go with the account or with another file: how many of them
    /// Storage deletes in one statement is its own affair.
    func blockers(
        ofDeleting objects: [StoredObject],
        maximumRows: Int,
        deadline: Duration = AccountRows.deadline,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        guard !objects.isEmpty else { return [] }
        guard faultsOntoFiles.isEmpty else { return faultsOntoFiles }
        let going = ways(of: objects)
        var blockers = Self.namedByNoCall(objects)
        for key in ontoFiles {
            let rows = try connection.one(
                """
                select count(*)
                from (
                    select
                    from \(key.rows)
                    where \(going.rows(referringBy: key))
                    limit \(BlockerSearch.countLimit)
                ) as found
                """,
                as: Int.self,
                deadline: deadline
            )
            guard rows > 0 else { continue }
            blockers.append(
                Blocker(
                    table: key.table.description,
                    name: key.name,
                    rows: rows,
                    code: .blockingRows,
                    detail: key.target == .files
                        ? "they refer to files, which go before any rows"
                        : "they refer to rows of \(key.target), which go with files, before any others"
                )
            )
        }
        for table in goingWithFiles.tables.dropFirst() {
            let keys = goingWithFiles.keys[table] ?? []
            guard let first = keys.first, keys.contains(where: { $0.estimatedRows > maximumRows }) else { continue }
            let rows = try connection.one(
                WaysToRows(rows: first.rows, conditions: going.ways(to: table)).counting(upTo: maximumRows + 1),
                as: Int.self,
                deadline: deadline
            )
            guard rows > maximumRows else { continue }
            blockers.append(Blocker(table: table.description, name: nil, rows: rows, code: .tooLarge))
        }
        blockers += try unpublishable(goingBy: going, deadline: deadline, on: connection)
        blockers += try refusingChecks(goingBy: going, deadline: deadline, on: connection)
        return blockers
    }
}
