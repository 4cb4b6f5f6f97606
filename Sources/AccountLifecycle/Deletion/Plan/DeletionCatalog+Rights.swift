import Postgres

extension DeletionCatalog {
    /// Reads what our role may do with each table.
    static func readRights(on connection: isolated Connection) throws -> [TableName: Rights] {
        let rights = try connection.query(Self.rights, as: (String, String, Bool, Bool, Bool, Bool).self)
            .map { (TableName($0, $1), Rights(mayRead: $2, mayDelete: $3, hidesRows: $4, lacksIdentity: $5)) }
        return Dictionary(rights) { first, _ in first }
    }

    private static let rights: Statement = """
        select
            n.nspname::text,
            c.relname::text,
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT'),
            has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'DELETE'),
            row_security_active(c.oid),
            (
                c.relreplident <> 'f'
                and not exists (
                    select
                    from pg_catalog.pg_index as i
                    where i.indrelid = c.oid
                      and i.indisvalid
                      and i.indimmediate
                      and (i.indisreplident or (c.relreplident = 'd' and i.indisprimary))
                )
                -- Whole rows tell theirs apart, but a list of columns leaves some out.
                or exists (
                    select
                    from pg_catalog.pg_publication_rel as r
                    where r.prrelid = c.oid and (r.prqual is not null or r.prattrs is not null)
                )
            )
            and exists (
                select
                from pg_catalog.pg_publication as p
                where (p.pubdelete or p.pubupdate)
                  and (
                      p.puballtables
                      or exists (
                          select
                          from pg_catalog.pg_publication_rel as r
                          where r.prpubid = p.oid
                            and (
                                r.prrelid = c.oid
                                or r.prrelid in (select relid from pg_catalog.pg_partition_ancestors(c.oid))
                            )
                      )
                      or exists (
                          select
                          from pg_catalog.pg_publication_namespace as s
                          where s.pnpubid = p.oid and s.pnnspid = c.relnamespace
                      )
                  )
            )
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p')
          and c.relpersistence <> 't'
          and n.nspname not in ('pg_catalog', 'information_schema')
          and n.nspname !~ '^pg_(toast|temp)'
        """
}
