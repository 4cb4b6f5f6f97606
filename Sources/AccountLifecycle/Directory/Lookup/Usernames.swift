import Postgres

/// Whether accounts can be looked up by username; an app may have no profiles table, or one of another form.
package enum Usernames: Sendable, Hashable {
    /// There is no `public.profiles` with the account's id as `id` and a text as `username`, or no term needs
    /// usernames.
    case none
    /// No index serves a search for the start of a username, which would scan the table; or no term needs one.
    case unindexed
    case indexed

    /// An SQL expression: whether there are usernames.
    ///
    /// Scalar subqueries, since a new session takes longer to plan a join of the two catalog tables.
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

    /// An SQL expression: whether an index serves the start of a username; scalar subqueries, as in ``areThere``.
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
