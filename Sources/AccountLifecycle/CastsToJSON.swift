import Postgres

/// Casts to JSON that the owners of types created.
///
/// `to_json` looks for such a cast for every value it meets, also inside arrays and rows, and the cast's function would
/// run with the rights of whoever runs the query.
enum CastsToJSON {
    /// A query of the types that have such a cast, or that contain a type with one.
    ///
    /// Types of extensions such as hstore are excluded: their functions are in C and take exactly the type that is
    /// cast, so only a superuser can have created them.
    static let types: Statement = """
        with recursive written as (
            select c.castsource as type
            from pg_catalog.pg_cast as c
            join pg_catalog.pg_proc as p on p.oid = c.castfunc
            join pg_catalog.pg_language as l on l.oid = p.prolang
            where c.casttarget in ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype)
              -- The server's own casts have lower oids.
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

    /// What to select of a column of such a type instead: its text, as the type's output function writes it.
    static func text(of column: Statement) -> Statement {
        "case when pg_catalog.num_nulls(\(column)) = 0 then pg_catalog.concat(\(column)) end"
    }
}
