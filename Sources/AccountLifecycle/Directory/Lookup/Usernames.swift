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

    /// Whether an index leads to the start of one, as an expression; here as well one look at a time.
    static let areIndexed: Statement = """
        exists (
            select
            from pg_index as i
            where i.indrelid = to_regclass('public.profiles')
              and i.indisvalid
              and i.indpred is null
              and (
                  select
                      a.attname = 'username'
                      and a.atttypid in ('text'::regtype, 'varchar'::regtype)
                      and a.attcollation = i.indcollation[0]
                  from pg_attribute as a
                  where a.attrelid = i.indrelid and a.attnum = i.indkey[0]
              )
              and (
                  select o.opcdefault and o.opcmethod = (select m.oid from pg_am as m where m.amname = 'btree')
                  from pg_opclass as o
                  where o.oid = i.indclass[0]
              )
        )
        """
}
