package import Postgres

extension AdoptionPlan {
    /// What the migrations that are still to run will do with what is there already.
    ///
    /// - Parameters:
    ///   - numbers: the migrations that are to run.
    ///   - visibility: what was asked for.
    ///   - connection: the database, of which catalogs are read only.
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
