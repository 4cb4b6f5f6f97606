import Postgres

extension DeletionPlan {
    /// What would keep Storage from deleting some files: rows that refer to them by a key that does not let them go.
    ///
    /// Files go before any row, also before rows that would go with the account.
    func blockers(
        ofDeleting objects: [StoredObject],
        deadline: Duration = AccountRows.deadline,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        guard !objects.isEmpty else { return [] }
        guard faultsOntoFiles.isEmpty else { return faultsOntoFiles }
        let files: Statement = """
            (bucket_id, name) in (
                select k.bucket, k.key
                from unnest(\(objects.map(\.bucket)), \(objects.map(\.key))) as k (bucket, key)
            )
            """
        var blockers: [Blocker] = []
        for key in ontoFiles {
            let rows = try connection.one(
                """
                select count(*)
                from (
                    select
                    from \(key.rows)
                    where \(key.refers(toRowsWhere: files))
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
                    detail: "they refer to files, which go before any rows"
                )
            )
        }
        return blockers
    }
}
