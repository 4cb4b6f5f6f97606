import Postgres

/// Whether accounts can be looked up by a username; an app may have no such table, or one of its own.
package enum Usernames: Sendable, Hashable {
    /// There is no `public.profiles` with `id` and `username`.
    case none
    /// No index leads to one: whoever looks one up reads the table.
    case unindexed
    case indexed

    /// Looks into the catalog.
    static func read(on connection: isolated Connection) throws -> Usernames {
        let (columns, isIndexed) = try connection.one(
            """
            select count(*),
                   coalesce(
                       bool_or(
                           a.attname = 'username'
                           and exists (
                               select
                               from pg_index as i
                               join pg_class as c on c.oid = i.indexrelid
                               join pg_am as m on m.oid = c.relam
                               where i.indrelid = a.attrelid
                                 and i.indisvalid
                                 and i.indpred is null
                                 and i.indkey[0] = a.attnum
                                 and m.amname = 'btree'
                           )
                       ),
                       false
                   )
            from pg_attribute as a
            where a.attrelid = to_regclass('public.profiles')
              and a.attname in ('id', 'username')
              and not a.attisdropped
            """,
            as: (Int, Bool).self
        )
        return columns < 2 ? .none : isIndexed ? .indexed : .unindexed
    }
}
