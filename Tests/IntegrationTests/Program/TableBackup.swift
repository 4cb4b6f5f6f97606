import TestSupport

/// The rows of accounts and of their deletions as they were at a moment.
///
/// They are kept outside the database, since a deletion searches every table in it for residue.
struct TableBackup {
    private static let tables = [
        "auth.users", "public.profiles", "accountctl.deletion_requests", "accountctl.deletion_steps",
        "accountctl.deletion_receipts", "accountctl.holds", "accountctl.jobs", "accountctl.operator_log",
    ]

    private let rows: [String: String]

    init(of database: TestDatabase) async throws {
        var rows: [String: String] = [:]
        for table in Self.tables {
            rows[table] = try await database.psql("select coalesce(jsonb_agg(to_jsonb(t)), '[]') from \(table) as t")
        }
        self.rows = rows
    }

    /// Replaces the present rows with the ones of the backup, as a restore in place does.
    func restore(to database: TestDatabase) async throws {
        let restored = rows.map { table, json in
            """
            delete from \(table);
            do $do$
            begin
                execute (
                    select format(
                        'insert into \(table) (%1$s) overriding system value '
                            'select %1$s from jsonb_populate_recordset(null::\(table), $1)',
                        string_agg(format('%I', attname), ', ' order by attnum)
                    )
                    from pg_attribute
                    where attrelid = '\(table)'::regclass
                      and attnum > 0
                      and not attisdropped
                      and attgenerated = ''
                )
                using $rows$\(json)$rows$::jsonb;
            end $do$;
            """
        }
        // The log's trigger refuses changes even with session_replication_role = replica.
        try await database.psql(
            """
            set session_replication_role = replica;
            alter table accountctl.operator_log disable trigger operator_log_refuse_change;
            \(restored.joined(separator: "\n"))
            alter table accountctl.operator_log enable always trigger operator_log_refuse_change;
            """
        )
    }
}
