package import Postgres

/// What the catalog says about deleting an account: foreign keys, triggers and our role's rights.
package struct DeletionCatalog: Sendable, Hashable {
    /// A trigger or rule that runs when rows of a table are deleted or updated.
    package struct Trigger: Sendable, Hashable {
        package let table: TableName
        package let name: String
        package let runsOnDelete: Bool
        package let runsOnUpdate: Bool
        /// Whether its function may do what no rollback takes back: by its language, or since the text of it, or of a
        /// function named in it, names one of an extension that calls other systems, a foreign table, or one with such
        /// a trigger of its own.
        package let reachesOutside: Bool
    }

    /// What our role may do with a table.
    package struct Rights: Sendable, Hashable {
        package let mayRead: Bool
        package let mayDelete: Bool
        /// Whether row-level security applies to our role, so that rows may be there that it does not see.
        package let hidesRows: Bool
        /// Whether there are publications of changes and the table has nothing to tell its rows apart by: where it is
        /// published, the server refuses every delete and update.
        package var lacksIdentity = false
    }

    package var foreignKeys: [ForeignKey]
    package var triggers: [Trigger]
    package var rights: [TableName: Rights]
    /// The partitioned table of each partition, at any depth.
    package var partitionRoots: [TableName: TableName]
    /// The table of profiles, where `public.profiles` has a one-column primary key that refers to `auth.users`.
    package var profiles: Profiles?

    /// The table of profiles and the columns that matter here.
    package struct Profiles: Sendable, Hashable {
        package let table: TableName
        /// The primary key, which is the user id.
        package let key: String
        package let hasAvatarURL: Bool
        /// Its columns of text, of any type that is written as one.
        package let texts: [String]
        /// Its columns with texts in them: JSON, and arrays of texts or of JSON.
        package let documents: [String]
    }

    package init(
        foreignKeys: [ForeignKey],
        triggers: [Trigger] = [],
        rights: [TableName: Rights] = [:],
        partitionRoots: [TableName: TableName] = [:],
        profiles: Profiles? = nil
    ) {
        self.foreignKeys = foreignKeys
        self.triggers = triggers
        self.rights = rights
        self.partitionRoots = partitionRoots
        self.profiles = profiles
    }

    /// Reads the catalog as it is now.
    package static func read(on connection: isolated Connection) throws -> DeletionCatalog {
        let keys = try connection.query(
            Self.foreignKeys,
            as: (String, String, String, [String], String, String, [String], String, Bool, Bool, Int, Bool, Bool).self
        ).compactMap {
            name,
            schema,
            table,
            columns,
            targetSchema,
            target,
            targetColumns,
            rule,
            required,
            indexed,
            rows,
            partitioned,
            targetPartitioned in
            ForeignKey.DeleteRule(rawValue: rule).map {
                ForeignKey(
                    name: name,
                    table: TableName(schema, table),
                    columns: columns,
                    target: TableName(targetSchema, target),
                    targetColumns: targetColumns,
                    rule: $0,
                    hasRequiredColumn: required,
                    isIndexed: indexed,
                    estimatedRows: rows,
                    isPartitioned: partitioned,
                    isTargetPartitioned: targetPartitioned
                )
            }
        }
        let triggers = try readTriggers(on: connection)
        let rights = try connection.query(Self.rights, as: (String, String, Bool, Bool, Bool, Bool).self)
            .map { (TableName($0, $1), Rights(mayRead: $2, mayDelete: $3, hidesRows: $4, lacksIdentity: $5)) }
        let partitions = try connection.query(Self.partitions, as: (String, String, String, String).self)
            .map { (TableName($0, $1), TableName($2, $3)) }
        return DeletionCatalog(
            foreignKeys: keys,
            triggers: triggers,
            rights: Dictionary(rights) { first, _ in first },
            partitionRoots: Dictionary(partitions) { first, _ in first },
            profiles: try readProfiles(on: connection)
        )
    }

    /// Reads the triggers alone.
    static func readTriggers(on connection: isolated Connection) throws -> [Trigger] {
        try connection.query(Self.triggers, as: (String, String, String, Bool, Bool, Bool).self)
            .map {
                Trigger(
                    table: TableName($0, $1),
                    name: $2,
                    runsOnDelete: $3,
                    runsOnUpdate: $4,
                    reachesOutside: $5
                )
            }
    }

    /// Reads what there is of profiles alone.
    static func readProfiles(on connection: isolated Connection) throws -> Profiles? {
        try connection.first(Self.profiles, as: (String, Bool, [String], [String]).self)
            .map { key, hasAvatarURL, texts, documents in
                Profiles(
                    table: TableName("public", "profiles"),
                    key: key,
                    hasAvatarURL: hasAvatarURL,
                    texts: texts,
                    documents: documents
                )
            }
    }

    /// Constraints that partitions have of their parent are left out: the parent's stands for them.
    private static let foreignKeys: Statement = """
        select
            k.conname::text,
            n.nspname::text,
            c.relname::text,
            (
                select array_agg(a.attname::text order by u.place)
                from unnest(k.conkey) with ordinality as u (number, place)
                join pg_catalog.pg_attribute as a on a.attrelid = k.conrelid and a.attnum = u.number
            ),
            tn.nspname::text,
            t.relname::text,
            (
                select array_agg(a.attname::text order by u.place)
                from unnest(k.confkey) with ordinality as u (number, place)
                join pg_catalog.pg_attribute as a on a.attrelid = k.confrelid and a.attnum = u.number
            ),
            k.confdeltype::text,
            exists (
                select
                from pg_catalog.pg_attribute as a
                where a.attrelid = k.conrelid
                  -- ON DELETE SET NULL may name some of its columns only.
                  and a.attnum = any(coalesce(k.confdelsetcols, k.conkey))
                  and a.attnotnull
            ),
            exists (
                select
                from pg_catalog.pg_index as i
                where i.indrelid = k.conrelid
                  and i.indisvalid
                  and i.indpred is null
                  and i.indnkeyatts >= cardinality(k.conkey)
                  and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] operator(pg_catalog.@>) k.conkey
            ),
            -- Of a partitioned table only the partitions have been counted.
            (
                select coalesce(sum(greatest(l.reltuples, 0)), 0)
                from pg_catalog.pg_partition_tree(c.oid) as p
                join pg_catalog.pg_class as l on l.oid = p.relid
                where c.relkind = 'p' and p.isleaf
            )::bigint + greatest(c.reltuples, 0)::bigint,
            c.relkind = 'p',
            t.relkind = 'p'
        from pg_catalog.pg_constraint as k
        join pg_catalog.pg_class as c on c.oid = k.conrelid
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        join pg_catalog.pg_class as t on t.oid = k.confrelid
        join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
        where k.contype = 'f'
          and k.conparentid = 0
        order by n.nspname, c.relname, k.conname
        """

    /// Enabled triggers of people on DELETE and UPDATE (`tgtype` bits 3 and 4), per row or statement, and rules; those
    /// that partitions have of their parent are left out.
    ///
    /// pg_net is not among what reaches outside: it sends after the commit.
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
                  and g.tgenabled <> 'D'
            ) as n
        )
        select
            n.nspname::text,
            c.relname::text,
            g.tgname::text,
            g.tgtype & 8 <> 0,
            g.tgtype & 16 <> 0,
            g.tgfoid in (select oid from outside)
        from pg_catalog.pg_trigger as g
        join pg_catalog.pg_class as c on c.oid = g.tgrelid
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where not g.tgisinternal
          and g.tgparentid = 0
          and g.tgenabled <> 'D'
          and g.tgtype & 24 <> 0
        union all
        select
            n.nspname::text,
            c.relname::text,
            r.rulename::text,
            r.ev_type = '4',
            r.ev_type = '2',
            exists (select from outside as o where pg_get_ruledef(r.oid) ~* \(outsideName))
        from pg_catalog.pg_rewrite as r
        join pg_catalog.pg_class as c on c.oid = r.ev_class
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where r.ev_type in ('2', '4')
          and r.ev_enabled <> 'D'
          and c.relkind in ('r', 'p')
        order by 1, 2, 3
        """

    /// The name of what reaches outside, `o`, as a whole word.
    private static let outsideName: Statement = """
        ('\\m' || regexp_replace(o.name, '(\\W)', '\\\\\\1', 'g') || '\\M')
        """

    private static let partitions: Statement = """
        select n.nspname::text, c.relname::text, rn.nspname::text, r.relname::text
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        join pg_catalog.pg_class as r on r.oid = pg_partition_root(c.oid)
        join pg_catalog.pg_namespace as rn on rn.oid = r.relnamespace
        where c.relispartition
          and c.relkind in ('r', 'p', 'f')
        """

    private static let rights: Statement = """
        select
            n.nspname::text,
            c.relname::text,
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT'),
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'DELETE'),
            row_security_active(c.oid),
            exists (select from pg_catalog.pg_publication as p where p.pubdelete or p.pubupdate)
            and case c.relreplident
                when 'n' then true
                when 'd' then not exists (
                    select
                    from pg_catalog.pg_index as i
                    where i.indrelid = c.oid and i.indisprimary
                )
                else false
            end
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p')
          and c.relpersistence <> 't'
          and n.nspname not in ('pg_catalog', 'information_schema')
          and n.nspname !~ '^pg_(toast|temp)'
        """

    /// An unrelated table of that name has no such key and is left alone.
    private static let profiles: Statement = """
        select a.attname::text, exists (
            select
            from pg_catalog.pg_attribute as url
            where url.attrelid = k.conrelid
              and url.attname = 'avatar_url'
              and url.atttypid in ('text'::regtype, 'varchar'::regtype)
              and not url.attisdropped
        ),
        array(
            select c.attname::text
            from pg_catalog.pg_attribute as c
            join pg_catalog.pg_type as t on t.oid = c.atttypid
            where c.attrelid = k.conrelid
              and c.attnum > 0
              and not c.attisdropped
              and t.typcategory = 'S'
            order by c.attnum
        ),
        array(
            select c.attname::text
            from pg_catalog.pg_attribute as c
            join pg_catalog.pg_type as t on t.oid = c.atttypid
            join pg_catalog.pg_type as b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
            left join pg_catalog.pg_type as e on e.oid = b.typelem and b.typcategory = 'A'
            where c.attrelid = k.conrelid
              and c.attnum > 0
              and not c.attisdropped
              and (b.typname in ('json', 'jsonb') or e.typname in ('json', 'jsonb') or e.typcategory = 'S')
            order by c.attnum
        )
        from pg_catalog.pg_constraint as k
        join pg_catalog.pg_attribute as a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        where k.conrelid = to_regclass('public.profiles')
          and k.contype = 'f'
          and k.confrelid = 'auth.users'::regclass
          and cardinality(k.conkey) = 1
          and exists (
              select
              from pg_catalog.pg_constraint as p
              where p.conrelid = k.conrelid
                and p.contype = 'p'
                and p.conkey = k.conkey
          )
        limit 1
        """
}
