package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A column in which identifiers of erased accounts may stay, as an operator decided.
package struct AcceptedColumn: Sendable, Hashable {
    /// `schema.table.column`.
    package let name: String
    package let reason: String
    package let acceptedBy: String
    package let acceptedAt: Date

    /// The columns that are accepted now, by name: those among the given names, or all.
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

    /// The names of the accepted columns, as searches report them.
    static func namesInSearches(on connection: isolated Connection) throws -> Set<String> {
        try namesInSearches(ofColumns: "select column_name from accountctl.accepted_columns", on: connection)
    }

    /// The names under which searches, and so ``reported(on:)``, report a column.
    ///
    /// - Throws: `PostgresError`.
    package static func namesInSearches(of name: String, on connection: isolated Connection) throws -> Set<String> {
        try namesInSearches(ofColumns: "select \(name)::text", on: connection)
    }

    /// The names under which searches report the columns that a query names.
    ///
    /// A search reports the partition in which a row lies: what is accepted for a table is accepted for its partitions,
    /// including those created since.
    private static func namesInSearches(
        ofColumns columns: Statement,
        on connection: isolated Connection
    ) throws -> Set<String> {
        Set(
            try connection.query(
                """
                with meant (column_name) as (\(columns))
                select column_name
                from meant
                union
                select concat_ws('.', n.nspname, c.relname, a.attname)
                from pg_catalog.pg_class as c
                join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
                join pg_catalog.pg_attribute as a on a.attrelid = c.oid
                cross join lateral pg_catalog.pg_partition_ancestors(c.oid) as above (oid)
                join pg_catalog.pg_class as t on t.oid = above.oid
                join pg_catalog.pg_namespace as s on s.oid = t.relnamespace
                join meant on meant.column_name = concat_ws('.', s.nspname, t.relname, a.attname)
                where c.relispartition
                """,
                as: String.self
            )
        )
    }

    /// Whether the database has such a column; the name is its unquoted parts, joined by dots.
    ///
    /// - Throws: `PostgresError`.
    package static func exists(_ name: String, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from pg_catalog.pg_attribute as a
                join pg_catalog.pg_class as c on c.oid = a.attrelid
                join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
                where concat_ws('.', n.nspname, c.relname, a.attname) = \(name)
                  and a.attnum > 0
                  and not a.attisdropped
            )
            """,
            as: Bool.self
        )
    }

    /// The columns that open requests report as residue, by name: those that an operator can accept.
    ///
    /// - Throws: `PostgresError`.
    package static func reported(on connection: isolated Connection) throws -> [String] {
        try connection.query(
            """
            select distinct f.finding ->> 'column' collate "C"
            from accountctl.deletion_requests as r
            cross join jsonb_array_elements(r.situation -> 'findings') as f (finding)
            where r.finished_at is null
            order by 1
            """,
            as: String.self
        )
    }
}
