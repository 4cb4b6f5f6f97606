import Postgres

extension FilePlan {
    /// What would keep some files from being deleted: rows that refer to them, or to rows that go with them, by a key
    /// that does not let these go; a key that does not act; rows that the server would not let go, or stay without their
    /// file; more rows of one table than a run may take along; and that no call names them.
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
        guard faults.isEmpty else { return faults }
        let ways = ways(of: objects)
        var blockers = Self.namedByNoCall(objects) + idle.map(Blocker.idle)
        for key in refusing {
            let rows = try connection.one(
                """
                select count(*)
                from (
                    select
                    from \(key.rows)
                    where \(ways.rows(referringBy: key))
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
        for table in going.tables.dropFirst() {
            let keys = going.keys[table] ?? []
            guard let first = keys.first, keys.contains(where: { $0.estimatedRows > maximumRows }) else { continue }
            let rows = try connection.one(
                WaysToRows(rows: first.rows, conditions: ways.ways(to: table)).counting(upTo: maximumRows + 1),
                as: Int.self,
                deadline: deadline
            )
            guard rows > maximumRows else { continue }
            blockers.append(Blocker(table: table.description, name: nil, rows: rows, code: .tooLarge))
        }
        blockers += try unpublishable(goingBy: ways, deadline: deadline, on: connection)
        blockers += try refusingChecks(goingBy: ways, deadline: deadline, on: connection)
        return blockers
    }
}
