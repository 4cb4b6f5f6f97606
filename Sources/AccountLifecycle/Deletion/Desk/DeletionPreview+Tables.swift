import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionPreview {
    /// The tables that lose rows with the account and with its files, and how many.
    static func tables(
        of plan: DeletionPlan,
        _ user: UUID,
        _ objects: [StoredObject],
        on connection: isolated Connection
    ) throws -> [Table] {
        let withFiles = objects.isEmpty ? [:] : plan.files.going.keys
        let ofFiles = plan.files.ways(of: objects)
        let parts = Dictionary(plan.parts.map { ($0.table, $0) }) { first, _ in first }
        let others = withFiles.keys.filter { parts[$0] == nil && $0 != .files }.sorted()
        return try (plan.parts.map(\.table) + others).map { table -> Table in
            let keys = (parts[table]?.reachedBy ?? []) + (withFiles[table] ?? [])
            let own = parts[table].map { plan.goingRows(of: $0, user: user).conditions } ?? []
            let ways = WaysToRows(
                rows: parts[table]?.rows ?? keys.first?.rows ?? table.rows(isPartitioned: false),
                conditions: own + (withFiles[table] == nil ? [] : ofFiles.ways(to: table))
            )
            return Table(
                table: table,
                rows: try ways.count(upTo: BlockerSearch.countLimit, on: connection),
                reachedBy: keys.map(\.name)
            )
        }
        .filter { $0.rows > 0 }
    }
}
