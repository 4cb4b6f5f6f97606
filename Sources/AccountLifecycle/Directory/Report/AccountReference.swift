import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A column of an app's table that refers to accounts, or to their profiles by the key that is the user id.
struct AccountReference {
    let schema: String
    let table: String
    let column: String
    /// What the deletion of an account does to its rows.
    let onDelete: String
    /// Whether an index serves the search for an account's rows, or the table is small.
    let isCheap: Bool
    /// Whether our role may read all of the table's rows.
    let isReadable: Bool

    /// Whether an account's rows are counted at all.
    var isCountable: Bool { isCheap && isReadable }

    private var name: TableName { TableName(schema, table) }

    /// A query that counts an account's rows.
    func counting(_ id: UUID) -> Statement {
        "select count(*) from \(name.quoted) where \(identifier: column) = \(id)"
    }

    /// The report's entry for this column, with the rows counted; nil if they were not counted.
    func dependent(counted rows: Int?) -> AccountReport.Dependent {
        AccountReport.Dependent(
            table: name.description,
            column: column,
            onDelete: onDelete,
            rows: rows,
            uncounted: !isReadable ? .noRight : !isCheap ? .noIndex : rows == nil ? .noTime : nil
        )
    }

    /// All such columns, sorted by schema, table and column.
    static func all(on connection: isolated Connection) throws -> [AccountReference] {
        try connection.query(
            """
            select n.nspname::text, c.relname::text, a.attname::text, \(deleteRule), \(leadsCheaply), \(showsAllRows)
            from pg_constraint as k
            join pg_class as c on c.oid = k.conrelid
            join pg_namespace as n on n.oid = c.relnamespace
            join pg_attribute as a on a.attrelid = c.oid and a.attnum = k.conkey[1]
            where k.contype = 'f'
              and \(leadsToAccounts)
              and cardinality(k.conkey) = 1
              and k.conparentid = 0
              and n.nspname not in ('auth', 'storage', 'accountctl')
              and a.atttypid = 'uuid'::regtype
            order by 1, 2, 3
            """,
            into: AccountReference.init
        )
    }

    /// An SQL expression: the `on delete` action of the foreign key `k`.
    private static let deleteRule: Statement = """
        case k.confdeltype
            when 'c' then 'cascade' when 'n' then 'set null' when 'd' then 'set default'
            when 'r' then 'restrict' else 'no action'
        end
        """

    /// An SQL expression: whether the table `c` is small, or one of its indexes has the column `a` first.
    private static let leadsCheaply: Statement = """
        (
            \(AccountReport.size(of: "c.oid")) < 8388608
            or exists (
                select from pg_index as i
                where i.indrelid = c.oid and i.indisvalid and i.indpred is null and i.indkey[0] = a.attnum
            )
        )
        """

    /// An SQL expression: whether our role may read the column `a` of the table `c` in the schema `n`, and sees every
    /// row.
    private static let showsAllRows: Statement = """
        (
            has_schema_privilege(n.oid, 'USAGE')
            and has_column_privilege(c.oid, a.attnum, 'SELECT')
            and not row_security_active(c.oid)
        )
        """

    /// An SQL expression: whether the foreign key `k` refers to accounts, or to profiles by the key that refers to
    /// accounts.
    private static let leadsToAccounts: Statement = """
        (
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
        """
}
