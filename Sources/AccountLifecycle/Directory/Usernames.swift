import Postgres

/// Whether accounts can be looked up by a username; an app may have no such table, or one of its own.
package enum Usernames: Sendable, Hashable {
    /// There is no `public.profiles` with the account's id as `id` and a text as `username`, or nobody asked.
    case none
    /// No index leads to the start of one, or nobody asked: whoever looks a start up reads the table.
    case unindexed
    case indexed

    /// Whether there are any, as an expression.
    ///
    /// One look at a time: a join of the two tables takes a new session longer to plan.
    static let areThere: Statement = """
        coalesce(
            (
                select a.atttypid = 'uuid'::regtype
                from pg_attribute as a
                where a.attrelid = to_regclass('public.profiles') and a.attname = 'id'
            )
            and (
                select (select t.typcategory = 'S' from pg_type as t where t.oid = a.atttypid)
                from pg_attribute as a
                where a.attrelid = to_regclass('public.profiles') and a.attname = 'username'
            ),
            false
        )
        """

    /// Whether an index leads to the start of one, as an expression.
    static let areIndexed: Statement = """
        exists (
            select
            from pg_attribute as a
            join pg_index as i on i.indrelid = a.attrelid and i.indkey[0] = a.attnum and i.indcollation[0] = a.attcollation
            join pg_class as c on c.oid = i.indexrelid
            join pg_am as m on m.oid = c.relam
            join pg_opclass as o on o.oid = i.indclass[0]
            where a.attrelid = to_regclass('public.profiles')
              and a.attname = 'username'
              and a.atttypid in ('text'::regtype, 'varchar'::regtype)
              and not a.attisdropped
              and i.indisvalid
              and i.indpred is null
              and m.amname = 'btree'
              and o.opcdefault
        )
        """
}
