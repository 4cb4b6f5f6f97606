import Postgres

/// Every column that can hold an identifier, and every one that cannot be read.
package struct SearchCatalog: Sendable, Hashable {
    /// A table, leaf partition or materialised view to search.
    struct Table: Sendable, Hashable {
        /// By which it is known whatever its name.
        let oid: Int64
        let schema: String
        let name: String
        let columns: [Column]
        /// An estimate by the server's statistics.
        let bytes: Int64
        /// Whether any value lies outside of its row: otherwise no row is long.
        let hasLongValues: Bool

        /// What is known of a table of Storage whose rows somebody owns; nil for all other tables.
        var files: Files? { schema == "storage" ? Files(rawValue: name) : nil }

        /// This table without its columns of numbers; nil when nothing is left.
        var withoutNumbers: Table? {
            let others = columns.filter { !$0.form.isOfNumbers }
            guard !others.isEmpty else { return nil }
            return Table(
                oid: oid,
                schema: schema,
                name: name,
                columns: others,
                bytes: bytes,
                hasLongValues: hasLongValues
            )
        }
    }

    /// The tables of Storage's files: whoever uploads chooses a name, and owns the row.
    enum Files: String, Sendable, Hashable {
        case objects
        case unfinished = "s3_multipart_uploads"
        case parts = "s3_multipart_uploads_parts"
    }

    /// A column to search.
    struct Column: Sendable, Hashable {
        /// How a column is compared.
        enum Form: String, Sendable, Hashable {
            /// `uuid`: compared as such.
            case uuid
            /// `uuid[]`: overlaps.
            case uuidArray = "uuid_array"
            /// `bigint` and `numeric`, which can hold a long id or a telephone number: compared as such.
            case number
            /// Arrays of them: overlaps.
            case numberArray = "number_array"
            /// Everything else that can hold text, by its text.
            case text

            /// Whether only long numbers are looked for: a counter reaches shorter ones.
            var isOfNumbers: Bool { self == .number || self == .numberArray }
        }

        let name: String
        let form: Form
        /// Whether it is text to the server, also by a domain's name: that is read as it is, without any cast.
        let isText: Bool
    }

    let tables: [Table]
    /// `schema.table` or `schema.table.column`, with the reason: no result may claim that these are clean.
    let unreadable: [Unreadable]

    /// Something that was not searched.
    package struct Unreadable: Sendable, Hashable, Codable, Comparable {
        /// Why it was not searched.
        enum Reason: String, Sendable, Hashable, Codable {
            /// The data lies on another server.
            case foreignTable = "foreign_table"
            /// Bytes of unknown meaning.
            case bytes
            /// Our role may not read it.
            case noRight = "no_right"
            /// Row-level security hides rows from our role.
            case hiddenRows = "hidden_rows"
        }

        /// `schema.table` or `schema.table.column`.
        package let name: String
        let reason: Reason

        package static func < (left: Unreadable, right: Unreadable) -> Bool { left.name < right.name }
    }

    /// The estimated size of everything to search.
    var bytes: Int64 { tables.reduce(0) { $0 + $1.bytes } }

    /// The tables in two parts of about the same size.
    var halves: ([Table], [Table]) {
        var left: (tables: [Table], bytes: Int64) = ([], 0)
        var right = left
        for table in tables.sorted(by: { $0.bytes > $1.bytes }) {
            if left.bytes <= right.bytes {
                left.tables.append(table)
                left.bytes += table.bytes
            } else {
                right.tables.append(table)
                right.bytes += table.bytes
            }
        }
        return (left.tables, right.tables)
    }

    /// Reads the catalog as it is now, with names looked up among the server's own alone.
    static func readApart(on connection: isolated Connection) async throws -> SearchCatalog {
        try await connection.reading { connection -> SearchCatalog in
            try connection.lookUpInCatalogAlone()
            return try read(on: connection)
        }
    }

    /// Reads the catalog as it is now.
    ///
    /// `accountctl.deletion_requests` is left out: it is where the user id stands until the receipt is written.
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
                            schema: schema,
                            name: table,
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

    /// One row per column that matters, or per table that cannot be read at all.
    ///
    /// Domains and arrays are unwrapped to what they are made of. Left out are types that cannot hold text (other
    /// numbers, times, booleans, enums, addresses, geometry, bits, ranges) and those of well-known extensions that hold
    /// numbers.
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
                    -- Arrays of a domain over arrays cast to no others, and for those of any domain its owner can define
                    -- a cast, whose function would run with our rights.
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
