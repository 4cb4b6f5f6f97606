import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Tables of the app that refer to the account directly.
    ///
    /// Rows are counted where an index leads to them or the table is small.
    static func dependents(_ id: UUID, on connection: isolated Connection) throws -> [Dependent] {
        let keys = try connection.query(
            """
            select n.nspname::text, c.relname::text, a.attname::text,
                   case k.confdeltype
                       when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default'
                       when 'r' then 'restrict' else 'no action'
                   end,
                   \(size(of: "c.oid")) < 8388608
                   or exists (
                       select from pg_index as i
                       where i.indrelid = c.oid and i.indisvalid and i.indpred is null and i.indkey[0] = a.attnum
                   )
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            join pg_attribute as a on a.attrelid = c.oid and a.attnum = k.conkey[1]
            where k.contype = 'f'
              and k.confrelid = 'auth.users'::regclass
              and cardinality(k.conkey) = 1
              and k.conparentid = 0
              and n.nspname not in ('auth', 'storage', 'accountctl')
              and a.atttypid = 'uuid'::regtype
            order by 1, 2, 3
            """,
            as: (String, String, String, String, Bool).self
        )
        return try keys.map { schema, table, column, onDelete, isCheap in
            let rows =
                isCheap
                ? try connection.one(
                    """
                    select count(*) from \(identifier: schema).\(identifier: table)
                    where \(identifier: column) = \(id)
                    """,
                    as: Int.self
                ) : nil
            return Dependent(table: schema + "." + table, column: column, onDelete: onDelete, rows: rows)
        }
    }
}
