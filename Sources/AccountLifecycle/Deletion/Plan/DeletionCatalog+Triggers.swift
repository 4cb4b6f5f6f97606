import Postgres

extension DeletionCatalog {
    /// Reads only the triggers.
    static func readTriggers(on connection: isolated Connection) throws -> [Trigger] {
        try connection.query(Self.triggers, as: (String, String, String, [String], Bool, Bool, Bool, Bool, Bool).self)
            .map {
                Trigger(
                    table: TableName($0, $1),
                    name: $2,
                    functionNames: $3,
                    runsOnDelete: $4,
                    runsOnUpdate: $5,
                    mayKeepRows: $6,
                    reachesOutside: $7,
                    isOfStorage: $8
                )
            }
    }

    /// Enabled user-defined triggers on DELETE and UPDATE (`tgtype` bits 3 and 4), per row or statement, and rules;
    /// triggers that partitions inherit from their parent are left out.
    ///
    /// A trigger that runs before each row (bits 0 and 1) may keep the row. A rule may not: the server refuses that in
    /// a cascade.
    ///
    /// pg_net does not count as reaching outside, since it sends after the commit.
    private static let triggers: Statement = """
        with recursive written as materialized (
            select p.oid, p.proname as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body
            from pg_catalog.pg_proc as p
            join pg_catalog.pg_language as l on l.oid = p.prolang
            where l.lanname not in ('internal', 'c')
              and p.pronamespace <> 'pg_catalog'::regnamespace
        ),
        outside as (
            select p.oid, p.proname as name
            from pg_catalog.pg_proc as p
            join pg_catalog.pg_language as l on l.oid = p.prolang
            left join pg_catalog.pg_depend as d
                on d.classid = 'pg_catalog.pg_proc'::regclass
                and d.objid = p.oid
                and d.refclassid = 'pg_catalog.pg_extension'::regclass
                and d.deptype = 'e'
            left join pg_catalog.pg_extension as e on e.oid = d.refobjid
            where e.extname in ('http', 'dblink', 'plproxy', 'pg_background', 'aws_lambda', 'aws_s3')
               or (l.lanname not in ('internal', 'c') and not l.lanpltrusted)
               or (l.lanname = 'c' and p.prorettype = 'trigger'::regtype and e.oid is null)
            union
            select c.oid, c.relname
            from pg_catalog.pg_class as c
            where c.relkind = 'f'
            union
            select n.oid, n.name
            from outside as o
            cross join lateral (
                select w.oid, w.name
                from written as w
                where w.body ~* \(outsideName)
                union all
                select c.oid, c.relname
                from pg_catalog.pg_trigger as g
                join pg_catalog.pg_class as c on c.oid = g.tgrelid
                where g.tgfoid = o.oid
                  and not g.tgisinternal
                  and \(Statement.isEnabled("g.tgenabled"))
            ) as n
        )
        select
            n.nspname::text,
            c.relname::text,
            g.tgname::text,
            array[quote_ident(fn.nspname) || '.' || quote_ident(f.proname) || '()', quote_ident(f.proname) || '()'],
            g.tgtype & 8 <> 0,
            g.tgtype & 16 <> 0,
            g.tgtype & 3 = 3,
            g.tgfoid in (select oid from outside),
            coalesce(f.pronamespace = to_regnamespace('storage'), false)
        from pg_catalog.pg_trigger as g
        join pg_catalog.pg_class as c on c.oid = g.tgrelid
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        join pg_catalog.pg_proc as f on f.oid = g.tgfoid
        join pg_catalog.pg_namespace as fn on fn.oid = f.pronamespace
        where not g.tgisinternal
          and g.tgparentid = 0
          and \(Statement.isEnabled("g.tgenabled"))
          and g.tgtype & 24 <> 0
        union all
        select
            n.nspname::text,
            c.relname::text,
            r.rulename::text,
            '{}'::text[],
            r.ev_type = '4',
            r.ev_type = '2',
            false,
            exists (select from outside as o where pg_get_ruledef(r.oid) ~* \(outsideName)),
            false
        from pg_catalog.pg_rewrite as r
        join pg_catalog.pg_class as c on c.oid = r.ev_class
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where r.ev_type in ('2', '4')
          and \(Statement.isEnabled("r.ev_enabled"))
          and c.relkind in ('r', 'p')
        order by 1, 2, 3
        """

    /// A pattern for the name of a function or table `o` that reaches outside, as a whole word.
    private static let outsideName: Statement = """
        ('\\m' || regexp_replace(o.name, '(\\W)', '\\\\\\1', 'g') || '\\M')
        """
}
