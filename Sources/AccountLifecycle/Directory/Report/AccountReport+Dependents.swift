import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Tables of the app that refer to the account, or to its profile by the key that is the user id.
    ///
    /// Rows are counted where an index leads to them or the table is small, our role sees them, and it takes no time:
    /// no table of an app is a reason to tell nothing of the account.
    static func dependents(
        _ id: UUID,
        counting: (all: Duration, one: Duration),
        on connection: isolated Connection
    ) async throws -> [Dependent] {
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
                   ),
                   has_schema_privilege(n.oid, 'USAGE')
                   and has_column_privilege(c.oid, a.attnum, 'SELECT')
                   and not row_security_active(c.oid)
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            join pg_attribute as a on a.attrelid = c.oid and a.attnum = k.conkey[1]
            where k.contype = 'f'
              and (
                  k.confrelid = 'auth.users'::regclass
                  or k.confrelid = to_regclass('public.profiles')
                  and exists (
                      select
                      from pg_constraint as p
                      where p.contype = 'f'
                        and p.conrelid = k.confrelid
                        and p.confrelid = 'auth.users'::regclass
                        and p.conkey = k.confkey
                  )
              )
              and cardinality(k.conkey) = 1
              and k.conparentid = 0
              and n.nspname not in ('auth', 'storage', 'accountctl')
              and a.atttypid = 'uuid'::regtype
            order by 1, 2, 3
            """,
            as: (String, String, String, String, Bool, Bool).self
        )
        let counted = keys.filter { $0.4 && $0.5 }.map { schema, table, column, _, _, _ -> Statement in
            "select count(*) from \(identifier: schema).\(identifier: table) where \(identifier: column) = \(id)"
        }
        var counts = try await counts(counted, within: counting, on: connection)[...]
        return keys.map { schema, table, column, onDelete, isCheap, isReadable in
            let count = isCheap && isReadable ? counts.removeFirst() : nil
            return Dependent(
                table: schema + "." + table,
                column: column,
                onDelete: onDelete,
                rows: count,
                uncounted: !isReadable ? .noRight : !isCheap ? .noIndex : count == nil ? .noTime : nil
            )
        }
    }

    /// What each statement counts, nil for one that takes long: all at once, and where that fails each by itself as
    /// long as there is time.
    private static func counts(
        _ statements: [Statement],
        within counting: (all: Duration, one: Duration),
        on connection: isolated Connection
    ) async throws -> [Int?] {
        if statements.isEmpty { return [] }
        let start = ContinuousClock.now
        let all = statements.dropFirst().reduce("select array[(" + statements[0] + ")") { $0 + ", (" + $1 + ")" } + "]"
        let together = try await inTime(on: connection) { connection in
            try connection.one(all, as: [Int].self, deadline: counting.one)
        }
        if let together { return together }
        var counts: [Int?] = []
        for statement in statements {
            let left = min(counting.one, counting.all - (ContinuousClock.now - start))
            var count: Int?
            if left > .zero {
                count = try await inTime(on: connection) { try $0.one(statement, as: Int.self, deadline: left) }
            }
            counts.append(count)
        }
        return counts
    }
}
