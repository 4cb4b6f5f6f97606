import Postgres

extension SearchCatalog {
    /// Reads the catalog as it is now, with names looked up among the server's own only.
    static func readApart(on connection: isolated Connection) async throws -> SearchCatalog {
        try await connection.reading { connection -> SearchCatalog in
            try connection.lookUpInCatalogAlone()
            return try read(on: connection)
        }
    }

    /// Reads the catalog as it is now.
    ///
    /// `accountctl.deletion_requests` is left out: it holds the user id until the receipt is written.
    static func read(on connection: isolated Connection) throws -> SearchCatalog {
        let rows = try connection.query(catalog, as: (String, String, String?, String, Int64, Int64, Bool, Bool).self)
        var tables: [Table] = []
        var unreadable: [Unreadable] = []
        var columns: [Column] = []
        for (index, (schema, table, column, form, bytes, oid, hasLongValues, isText)) in rows.enumerated() {
            if let column, let form = Column.Form(rawValue: form) {
                columns.append(Column(name: column, form: form, isText: isText))
            } else if let reason = Unreadable.Reason(rawValue: form) {
                let name = [schema, table, column].compactMap(\.self).joined(separator: ".")
                unreadable.append(Unreadable(name: name, reason: reason))
            }
            let isLast = index + 1 == rows.count || rows[index + 1].5 != oid
            if isLast {
                if !columns.isEmpty {
                    tables.append(
                        Table(
                            oid: oid,
                            name: TableName(schema, table),
                            columns: columns,
                            bytes: bytes,
                            hasLongValues: hasLongValues
                        )
                    )
                }
                columns = []
            }
        }
        return SearchCatalog(tables: tables, unreadable: unreadable)
    }

    /// A query with one row per column to search, or per table that cannot be read at all.
    ///
    /// Domains and arrays are reduced to their base types. Left out are types that cannot hold text (other numbers,
    /// times, booleans, enums, addresses, geometry, bits, ranges) and those of well-known extensions that hold numbers.
    private static let catalog: Statement = """
        with recursive
        unwrapped as (
            select t.oid as declared, t.oid as inner_type, 0 as arrays, false as is_of_domains
            from pg_catalog.pg_type as t
            where t.typtype <> 'p'
            union all
            select
                u.declared,
                case when t.typtype = 'd' then t.typbasetype else t.typelem end,
                u.arrays + case when t.typtype = 'd' then 0 else 1 end,
                u.is_of_domains or (t.typtype = 'd' and u.arrays > 0)
            from unwrapped as u
            join pg_catalog.pg_type as t on t.oid = u.inner_type
            where t.typtype = 'd'
               or (t.typcategory = 'A' and t.typelem <> 0)
        ),
        forms as (
            select
                u.declared,
                case
                    when t.oid = 'bytea'::regtype then 'bytes'
                    -- Arrays of a domain over arrays cannot be cast to other arrays, and for arrays of any domain its
                    -- owner can define a cast, whose function would run with our rights.
                    when u.arrays > 1 or u.is_of_domains then 'text'
                    when t.oid = 'uuid'::regtype and u.arrays = 1 then 'uuid_array'
                    when t.oid = 'uuid'::regtype then 'uuid'
                    when t.typcategory = 'N' and u.arrays = 1 then 'number_array'
                    when t.typcategory = 'N' then 'number'
                    else 'text'
                end as form,
                u.arrays = 0 and t.oid in ('text'::regtype, 'varchar'::regtype) as is_text
            from unwrapped as u
            join pg_catalog.pg_type as t on t.oid = u.inner_type
            where t.typtype in ('b', 'c')
              and not (t.typcategory = 'A' and t.typelem <> 0)
              and (
                  t.typcategory not in ('N', 'D', 'T', 'B', 'E', 'I', 'G', 'V', 'R', 'Z')
                  or t.oid in ('int8'::regtype, 'numeric'::regtype)
              )
              and t.typname not in (
                  'vector', 'halfvec', 'sparsevec', 'geometry', 'geography', 'raster', 'box2d', 'box3d', 'tid', 'xid',
                  'xid8', 'cid', 'pg_lsn', 'txid_snapshot', 'pg_snapshot', 'aclitem', 'macaddr', 'macaddr8'
              )
        ),
        tables as (
            select
                c.oid,
                n.nspname,
                c.relname,
                c.relpages::bigint * 8192 as bytes,
                coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) > 0 as has_long_values,
                case
                    when c.relkind = 'f' then 'foreign_table'
                    when not has_schema_privilege(n.oid, 'USAGE') then 'no_right'
                    when row_security_active(c.oid) then 'hidden_rows'
                end as unreadable
            from pg_catalog.pg_class as c
            join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where c.relkind in ('r', 'm', 'f')
              and c.relpersistence <> 't'
              and c.relispopulated
              and n.nspname not in ('pg_catalog', 'information_schema')
              and n.nspname !~ '^pg_(toast|temp)'
              and c.oid <> 'accountctl.deletion_requests'::regclass
        )
        select t.nspname::text, t.relname::text, a.attname::text, coalesce(
            case
                when f.form <> 'bytes' and not has_column_privilege(t.oid, a.attnum, 'SELECT') then 'no_right'
                else f.form
            end, ''), t.bytes, t.oid::bigint, t.has_long_values, f.is_text
        from tables as t
        join pg_catalog.pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        join forms as f on f.declared = a.atttypid
        where t.unreadable is null
        union all
        select t.nspname::text, t.relname::text, null, t.unreadable, t.bytes, t.oid::bigint, t.has_long_values, false
        from tables as t
        where t.unreadable is not null
        order by 1, 2, 3
        """
}
