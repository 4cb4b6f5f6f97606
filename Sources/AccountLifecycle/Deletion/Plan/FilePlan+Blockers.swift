import Postgres

extension FilePlan {
    /// Finds everything that would prevent some files from being deleted.
    ///
    /// These are: rows that refer to the files, or to rows deleted with them, by a key that refuses; keys that are not
    /// in effect; rows that the server would not delete, or would not keep without their file; more rows of one table
    /// than a run may delete, unless `maximumRows` is nil; and files that no call names.
    ///
    /// Files are deleted before any row, even before rows that would be deleted with the account or with another file,
    /// since Storage alone decides how many files it deletes in one statement.
    func blockers(
        ofDeleting objects: [StoredObject],
        maximumRows: Int?,
        deadline: Duration = AccountRows.deadline,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        guard !objects.isEmpty else { return [] }
        guard faults.isEmpty else { return faults.map(\.blocker) }
        let ways = ways(of: objects)
        var blockers = Self.namedByNoCall(objects) + idle.map(Blocker.idle)
        for key in refusing {
            let rows = try WaysToRows(rows: key.rows, conditions: [ways.rows(referringBy: key)])
                .count(upTo: BlockerSearch.countLimit, deadline: deadline, on: connection)
            guard rows > 0 else { continue }
            blockers.append(
                Blocker(
                    table: key.table.description,
                    name: key.name,
                    rows: rows,
                    code: .blockingRows,
                    detail: key.target == .files
                        ? "they refer to files, which are deleted before any rows"
                        : "they refer to rows of \(key.target), which are deleted with files, before any other rows"
                )
            )
        }
        if let maximumRows {
            blockers += try tooManyRows(maximumRows, goingBy: ways, deadline: deadline, on: connection)
        }
        blockers += try unpublishable(goingBy: ways, deadline: deadline, on: connection)
        blockers += try refusingChecks(goingBy: ways, deadline: deadline, on: connection)
        return blockers
    }

    /// Tables that would lose more rows with the files than a run may delete.
    private func tooManyRows(
        _ maximum: Int,
        goingBy ways: CascadeWays,
        deadline: Duration,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        try going.tables.dropFirst().compactMap { table -> Blocker? in
            guard let keys = going.keys[table], let first = keys.first else { return nil }
            return try Blocker.tooMany(
                WaysToRows(rows: first.rows, conditions: ways.ways(to: table)),
                of: table,
                reachedBy: keys,
                maximum: maximum,
                deadline: deadline,
                on: connection
            )
        }
    }
}
