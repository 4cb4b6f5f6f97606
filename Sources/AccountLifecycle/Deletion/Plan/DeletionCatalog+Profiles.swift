import Postgres

extension DeletionCatalog {
    /// Reads only the table of profiles.
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

    /// An unrelated table named `profiles` has no such key and is left alone.
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
