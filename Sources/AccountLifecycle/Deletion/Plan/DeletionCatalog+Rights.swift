import Postgres

extension DeletionCatalog {
    /// Reads our role's rights on each table.
    static func readRights(on connection: isolated Connection) throws -> [TableName: Rights] {
        let rights = try connection.query(
            Self.rights,
            as: (String, String, Bool, Bool, Bool, Bool, Bool, Bool).self
        ).map {
            (
                TableName($0, $1),
                Rights(
                    mayRead: $2,
                    mayDelete: $3,
                    hidesRows: $4,
                    published: Published(mayRefuse: $5, deletes: $6, updates: $7)
                )
            )
        }
        return Dictionary(rights) { first, _ in first }
    }

    private static let rights: Statement = """
        select
            n.nspname::text,
            c.relname::text,
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT'),
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'DELETE'),
            row_security_active(c.oid),
            (i.is_lacking or p.is_in_part) and (p.deletes or p.updates),
            -- A partitioned table needs no replica identity if each of its partitions has one.
            i.is_lacking and p.deletes and c.relkind = 'r' and c.relpersistence = 'p',
            i.is_lacking and p.updates and c.relkind = 'r' and c.relpersistence = 'p'
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        cross join lateral (
            select c.relreplident <> 'f' and not exists (
                select
                from pg_catalog.pg_index as x
                where x.indrelid = c.oid
                  and x.indisvalid
                  and x.indimmediate
                  and (x.indisreplident or (c.relreplident = 'd' and x.indisprimary))
            )
        ) as i (is_lacking)
        -- A partition is published with its partitioned table, which may be in another schema.
        cross join lateral (
            select case
                when c.relispartition then array(select relid::oid from pg_catalog.pg_partition_ancestors(c.oid))
                else array[c.oid]
            end
        ) as w (tables)
        cross join lateral (
            select
                coalesce(bool_or(u.pubdelete), false),
                coalesce(bool_or(u.pubupdate), false),
                -- REPLICA IDENTITY FULL identifies rows by all columns, but a column list omits some.
                coalesce(bool_or(r.prqual is not null or r.prattrs is not null), false)
            from pg_catalog.pg_publication as u
            left join pg_catalog.pg_publication_rel as r on r.prpubid = u.oid and r.prrelid = any(w.tables)
            where u.puballtables
               or r.oid is not null
               or exists (
                   select
                   from pg_catalog.pg_publication_namespace as s
                   join pg_catalog.pg_class as a on a.relnamespace = s.pnnspid and a.oid = any(w.tables)
                   where s.pnpubid = u.oid
               )
        ) as p (deletes, updates, is_in_part)
        where c.relkind in ('r', 'p')
          and c.relpersistence <> 't'
          and n.nspname not in ('pg_catalog', 'information_schema')
          and n.nspname !~ '^pg_(toast|temp)'
        """
}

extension DeletionCatalog.Published {
    /// Creates the value from what the catalog says: whether anything may be refused, and what certainly is.
    fileprivate init(mayRefuse: Bool, deletes: Bool, updates: Bool) {
        if deletes || updates {
            self = .refusing(deletes: deletes, updates: updates)
        } else {
            self = mayRefuse ? .perhapsRefusing : .harmlessly
        }
    }
}
