import ObjectStorage
import Postgres

extension DeletionPlan {
    /// What would keep Storage from deleting some files: rows that refer to them, or to rows that go with them, by a key
    /// that does not let these go.
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
        let going = CascadeWays(
            keys: goingWithFiles.keys,
            roots: [.files: CascadeWays.Root(condition: files)],
            followedWithin: Set(goingWithFiles.tables)
        )
        let isOneCall = Set(objects.map(\.bucket)).count == 1 && objects.count <= StorageClient.largestBatch
        var blockers: [Blocker] = []
        for key in ontoFiles {
            // What goes with a file of the same call has gone when the server looks at NO ACTION onto rows that do; with
            // one of another call it may not have.
            let gone = isOneCall && key.rule == .noAction && key.target != .files ? going.keys[key.table] ?? [] : []
            let others = gone.filter { $0.target == .files }.reduce("" as Statement) {
                $0 + " and not coalesce(\($1.refers(toRowsWhere: files)), false)"
            }
            let rows = try connection.one(
                """
                select count(*)
                from (
                    select
                    from \(key.rows)
                    where \(going.rows(referringBy: key))\(others)
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
        return blockers
    }
}
