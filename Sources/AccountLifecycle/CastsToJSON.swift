import Postgres

/// Casts to JSON that owners of types made.
///
/// `to_json` looks for one for every value it meets, within arrays and rows too, and its function would run as whoever
/// asks.
enum CastsToJSON {
    /// A query of the types whose values hold one that has such a cast.
    ///
    /// Less those of extensions such as hstore, whose functions only a superuser can have made: they are in C, and take
    /// that very type.
    static let types: Statement = """
        with recursive written as (
            select c.castsource as type
            from pg_catalog.pg_cast as c
            join pg_catalog.pg_proc as p on p.oid = c.castfunc
            join pg_catalog.pg_language as l on l.oid = p.prolang
            where c.casttarget in ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype)
              -- Those of the server itself have lower numbers.
              and c.oid >= 16384
              and (l.lanpltrusted or p.proargtypes[0] <> c.castsource)
            union
            select o.type
            from written as w
            cross join lateral (
                select t.oid
                from pg_catalog.pg_type as t
                where t.typbasetype = w.type
                   or t.typelem = w.type
                union all
                select r.reltype
                from pg_catalog.pg_attribute as a
                join pg_catalog.pg_class as r on r.oid = a.attrelid
                where a.atttypid = w.type
                  and r.reltype <> 0
                  and not a.attisdropped
            ) as o (type)
        )
        select type
        from written
        """

    /// What to write of a column in the place of such a value: its text, as the type itself writes it.
    static func text(of column: Statement) -> Statement {
        "case when pg_catalog.num_nulls(\(column)) = 0 then pg_catalog.concat(\(column)) end"
    }
}
