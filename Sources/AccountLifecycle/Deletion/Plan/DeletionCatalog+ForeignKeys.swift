import Postgres

extension DeletionCatalog {
    /// Reads only the foreign keys; if names are given, only those with one of these names.
    static func readForeignKeys(
        named names: [String]? = nil,
        on connection: isolated Connection
    ) throws -> [ForeignKey] {
        let condition: Statement = if let names { "k.conname = any(\(names))" } else { "true" }
        return try connection.query(foreignKeys(where: condition), into: ForeignKeyRow.init).compactMap(\.key)
    }

    /// A row of ``foreignKeys(where:)``.
    private struct ForeignKeyRow {
        let name: String
        let schema: String
        let table: String
        let columns: [String]
        let targetSchema: String
        let target: String
        let targetColumns: [String]
        let rule: String
        let hasRequiredColumn: Bool
        let isIndexed: Bool
        let estimatedRows: Int
        let isCounted: Bool
        let isPartitioned: Bool
        let isTargetPartitioned: Bool
        /// nil if the key has no trigger that could act.
        let acts: Bool?

        var key: ForeignKey? {
            ForeignKey.DeleteRule(rawValue: rule).map { rule in
                ForeignKey(
                    name: name,
                    table: TableName(schema, table),
                    columns: columns,
                    target: TableName(targetSchema, target),
                    targetColumns: targetColumns,
                    rule: rule,
                    hasRequiredColumn: hasRequiredColumn,
                    isIndexed: isIndexed,
                    estimatedRows: estimatedRows,
                    isCounted: isCounted,
                    isPartitioned: isPartitioned,
                    isTargetPartitioned: isTargetPartitioned,
                    action: action
                )
            }
        }

        private var action: ForeignKey.Action {
            guard let acts else { return .unenforced }
            return acts ? .taken : .disabled
        }
    }

    /// A query for foreign keys; constraints that partitions inherit from their parent are left out, since the parent's
    /// represents them.
    ///
    /// The server carries out delete rules by triggers on DELETE (`tgtype` bit 3) of the referenced table and of each
    /// of its partitions.
    private static func foreignKeys(where condition: Statement) -> Statement {
        """
        with recursive parts as (
            select k.oid as key, k.oid as part
            from pg_catalog.pg_constraint as k
            where k.contype = 'f'
              and k.conparentid = 0
              and \(condition)
            union all
            select p.key, k.oid
            from parts as p
            join pg_catalog.pg_constraint as k on k.conparentid = p.part
        ),
        actions as (
            select p.key, bool_and(\(Statement.isEnabled("g.tgenabled"))) as act
            from parts as p
            join pg_catalog.pg_trigger as g on g.tgconstraint = p.part
            where g.tgtype & 8 <> 0
            group by p.key
        )
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
                join pg_catalog.pg_type as y on y.oid = a.atttypid
                where a.attrelid = k.conrelid
                  -- ON DELETE SET NULL may name some of its columns only.
                  and a.attnum = any(coalesce(k.confdelsetcols, k.conkey))
                  and (a.attnotnull or y.typnotnull)
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
            -- A partitioned table has a count of its own, of the same rows, only if somebody analyzed it.
            case
                when c.relkind = 'p' then (
                    select coalesce(sum(greatest(l.reltuples, 0)), 0)
                    from pg_catalog.pg_partition_tree(c.oid) as p
                    join pg_catalog.pg_class as l on l.oid = p.relid
                    where p.isleaf
                )
                else greatest(c.reltuples, 0)
            end::bigint,
            not exists (
                select
                from (
                    select c.oid where c.relkind <> 'p'
                    union all
                    select p.relid::oid from pg_catalog.pg_partition_tree(c.oid) as p where p.isleaf
                ) as u (oid)
                join pg_catalog.pg_class as l on l.oid = u.oid
                where l.reltuples < 0
            ),
            c.relkind = 'p',
            t.relkind = 'p',
            s.act
        from pg_catalog.pg_constraint as k
        join pg_catalog.pg_class as c on c.oid = k.conrelid
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        join pg_catalog.pg_class as t on t.oid = k.confrelid
        join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
        left join actions as s on s.key = k.oid
        where k.contype = 'f'
          and k.conparentid = 0
          and \(condition)
        order by n.nspname, c.relname, k.conname
        """
    }
}
