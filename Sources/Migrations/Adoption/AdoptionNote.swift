#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import Postgres

/// What the migrations did with one thing they met: a row of `accountctl.adoption_notes`.
package struct AdoptionNote: Sendable, Equatable, Codable {
    /// What it is about; the names of ``AdoptionPlan/Item/name``.
    package let item: String

    /// The database object that was made, replaced or left.
    package let object: String

    /// `created`, `replaced`, `kept` or `left_off`.
    package let decision: String

    /// Why it was kept or left off.
    package let reason: String?

    /// When it was decided.
    let notedAt: Date

    /// Every note, in the order in which they were made.
    ///
    /// - Throws: `PostgresError`, as for every statement; `undefinedTable` before the first migration.
    package static func all(on connection: isolated Connection) throws -> [AdoptionNote] {
        try connection.query(
            """
            select item, object, decision, reason, noted_at
            from accountctl.adoption_notes
            order by noted_at, item
            """,
            as: (String, String, String, String?, Date).self
        ).map { AdoptionNote(item: $0, object: $1, decision: $2, reason: $3, notedAt: $4) }
    }
}
