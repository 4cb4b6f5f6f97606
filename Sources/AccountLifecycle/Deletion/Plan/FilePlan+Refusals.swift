import Postgres

/// Refusals of Storage's delete of files because of rows that it deletes or changes; found without a trial, which only
/// Storage's role could make.
extension FilePlan {
    /// Blockers for files that no call to Storage names, by bucket.
    static func namedByNoCall(_ objects: [StoredObject]) -> [Blocker] {
        Dictionary(grouping: objects.filter { $0.version == .missing }, by: \.bucket).sorted { $0.key < $1.key }
            .map { bucket, objects in
                Blocker(
                    table: TableName.files.description,
                    name: bucket,
                    rows: objects.count,
                    code: .blockingRows,
                    detail: "they have no version, and Storage cannot address such a file in a bucket that keeps "
                        + "versions"
                )
            }
    }

    /// Published tables from which rows would be deleted, or whose keys would be set to NULL or a default, and that
    /// have nothing to tell their rows apart.
    func unpublishable(
        goingBy ways: CascadeWays,
        deadline: Duration,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        let losing = going.tables.filter(refusingDeletes.contains).compactMap {
            table -> (table: TableName, rows: WaysToRows)? in
            guard let key = going.keys[table]?.first else { return nil }
            return (table, WaysToRows(rows: key.rows, conditions: ways.ways(to: table)))
        }
        let changing = changed.filter { refusingUpdates.contains($0.table) }.map {
            key -> (table: TableName, rows: WaysToRows) in
            (key.table, WaysToRows(rows: key.rows, conditions: [ways.rows(referringBy: key)]))
        }
        var blockers: [Blocker] = []
        for (table, rows) in losing + changing {
            let count = try rows.count(upTo: BlockerSearch.countLimit, deadline: deadline, on: connection)
            guard count > 0 else { continue }
            blockers.append(Blocker(table: table.description, name: nil, rows: count, code: .unpublishable))
        }
        return blockers
    }

    /// How many sets of keys are tried at most: all sets of ten keys.
    ///
    /// What a check over more of them refuses is found by the step itself.
    private static let mostSets = 1023

    /// Checks that rows would violate once some of their keys to files are set to NULL.
    ///
    /// The server sets one key after the other to NULL, in an order that depends on the files, so a check has to hold
    /// without each set of the keys that it is over. Sets grow key by key, as long as some check involves all their keys.
    func refusingChecks(
        goingBy ways: CascadeWays,
        deadline: Duration,
        on connection: isolated Connection
    ) throws -> [Blocker] {
        var blockers: [Blocker] = []
        var sets = checked.map { [$0] }
        var next = 0
        while next < min(sets.count, Self.mostSets) {
            let keys = sets[next]
            next += 1
            guard let key = keys.first else { continue }
            let refers = keys.dropFirst().reduce(ways.rows(referringBy: key)) {
                $0 + " and " + ways.rows(referringBy: $1)
            }
            let checks = try connection.query(Self.checks(of: keys), as: (String, String, String).self)
            let others = checked.drop(while: { $0 != keys.last }).dropFirst().filter { $0.table == key.table }
            if !checks.isEmpty { sets += others.map { keys + [$0] } }
            for (name, row, check) in checks {
                let table = key.table.description
                // A check that fails for fewer keys is already reported.
                guard !blockers.contains(where: { $0.table == table && $0.name == name }) else { continue }
                let count = try connection.one(
                    """
                    select count(*)
                    from (
                        select
                        from (
                            select \(unsafeSQL: row)
                            from \(key.rows)
                            where \(refers)
                        ) as \(identifier: key.table.name)
                        where not (\(unsafeSQL: check))
                        limit \(BlockerSearch.countLimit)
                    ) as found
                    """,
                    as: Int.self,
                    deadline: deadline
                )
                guard count > 0 else { continue }
                blockers.append(
                    Blocker(
                        table: table,
                        name: name,
                        rows: count,
                        code: .blockingRows,
                        detail: "a check that they do not meet once \(key.target), which are deleted before any rows, "
                            + "are gone"
                    )
                )
            }
        }
        return blockers
    }

    /// A query for the checks over columns that each of some keys of a table sets to NULL: the name, the columns of a
    /// row as it would be, and the condition.
    private static func checks(of keys: [ForeignKey]) -> Statement {
        """
        with falling as (
            select f.conrelid as relation, coalesce(f.confdelsetcols, f.conkey) as columns
            from unnest(
                \(keys.map(\.table.schema)), \(keys.map(\.table.name)), \(keys.map(\.name))
            ) as s (schema, name, key)
            join pg_catalog.pg_namespace as n on n.nspname = s.schema
            join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = s.name
            join pg_catalog.pg_constraint as f on f.conrelid = c.oid and f.conname = s.key and f.contype = 'f'
        )
        select
            k.conname::text,
            (
                select pg_catalog.string_agg(
                    case
                        when exists (select from falling where a.attnum = any(columns))
                            then pg_catalog.format('null::%s as %I', format_type(a.atttypid, a.atttypmod), a.attname)
                        else pg_catalog.quote_ident(a.attname)
                    end,
                    ', '
                    order by a.attnum
                )
                from pg_catalog.pg_attribute as a
                where a.attrelid = k.conrelid
                  and a.attnum > 0
                  and not a.attisdropped
            ),
            pg_catalog.pg_get_expr(k.conbin, k.conrelid)
        from pg_catalog.pg_constraint as k
        where k.contype = 'c'
          and k.conrelid in (select relation from falling)
          and (select bool_and(k.conkey operator(pg_catalog.&&) columns) from falling)
        order by k.conname
        """
    }
}
