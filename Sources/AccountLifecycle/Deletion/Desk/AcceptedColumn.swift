package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A column that may keep identifiers of erased accounts, as an operator decided.
package struct AcceptedColumn: Sendable, Hashable {
    /// `schema.table.column`.
    package let name: String
    package let reason: String
    package let acceptedBy: String
    package let acceptedAt: Date

    /// Those that are accepted now, by name; of the given ones, or all.
    ///
    /// - Throws: `PostgresError`.
    package static func all(
        among names: [String]? = nil,
        on connection: isolated Connection
    ) throws -> [AcceptedColumn] {
        try connection.query(
            """
            select column_name, reason, accepted_by, accepted_at
            from accountctl.accepted_columns
            where \(names)::text[] is null or column_name = any(\(names)::text[])
            order by column_name
            """,
            as: (String, String, String, Date).self
        ).map { AcceptedColumn(name: $0, reason: $1, acceptedBy: $2, acceptedAt: $3) }
    }

    /// The columns that open requests report as residue, by name: what there is to accept.
    ///
    /// - Throws: `PostgresError`.
    package static func reported(on connection: isolated Connection) throws -> [String] {
        try connection.query(
            """
            select distinct f.finding ->> 'column' collate "C"
            from accountctl.deletion_requests as r
            cross join jsonb_array_elements(r.situation -> 'findings') as f (finding)
            where r.finished_at is null
              and r.state = \(DeletionState.residue.rawValue)
            order by 1
            """,
            as: String.self
        )
    }
}
