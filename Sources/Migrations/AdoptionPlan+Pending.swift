package import Postgres

extension AdoptionPlan {
    /// The decisions of the pending migrations on existing objects.
    ///
    /// - Parameters:
    ///   - numbers: the pending migrations.
    ///   - visibility: the visibility that was requested.
    ///   - connection: the database, of which only catalogs are read.
    /// - Returns: the items of these migrations.
    /// - Throws: `PostgresError`.
    package static func pending(
        _ numbers: Set<Int>,
        _ visibility: ProfilesVisibility?,
        on connection: isolated Connection
    ) async throws -> [Item] {
        guard !numbers.isEmpty else { return [] }
        let plan = AdoptionPlan(facts: try await AdoptionFacts.read(on: connection), visibility: visibility)
        return plan.items.filter { numbers.contains($0.migration) }
    }
}
