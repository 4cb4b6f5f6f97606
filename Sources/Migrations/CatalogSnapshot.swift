package import Postgres

/// The catalog entries of the objects that the migrations created, as comparable text.
package enum CatalogSnapshot {
    /// Prepares a run: records the differences that exist already, so that the run does not take them for its own
    /// changes.
    ///
    /// The record is committed before the first migration. If the run dies, the next one detects that by
    /// ``isUnfinished(on:)`` and completes it.
    ///
    /// - Returns: The existing differences.
    static func begin(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction { connection in
            // Before the first snapshot, everything would differ.
            let isRecorded = try connection.one(
                "select exists (select from accountctl.catalog_snapshot)",
                as: Bool.self
            )
            let found = isRecorded ? try differencesInTransaction(on: connection) : []
            try connection.script(
                unsafeSQL: """
                    create table if not exists accountctl.catalog_drift (
                        object text not null constraint catalog_drift_pkey primary key,
                        definition text
                    );
                    comment on table accountctl.catalog_drift is
                        'What differed from the snapshot when a run began that has not ended yet; the row without a name is the run.';
                    insert into accountctl.catalog_drift (object) values ('');
                    """
            )
            let (objects, definitions) = (found.map(\.object), found.map(\.present))
            try connection.execute(
                """
                insert into accountctl.catalog_drift (object, definition)
                select * from unnest(\(objects)::text[], \(definitions)::text[])
                """
            )
            return found
        }
    }

    /// Records the present state as the expected one, except objects that differed before the run and that it did not
    /// change.
    static func record(on connection: isolated Connection) async throws {
        try await connection.transaction { connection in
            try fixForm(on: connection)
            let present = "with present as (" + objects + ") "
            if try connection.one(
                "select exists (select from accountctl.catalog_drift where object <> '')",
                as: Bool.self
            ) {
                try connection.execute(
                    present + """
                        delete from accountctl.catalog_drift as d
                        where d.object <> ''
                          and d.definition is distinct from (select p.definition from present as p where p.object = d.object)
                        """
                )
            }
            try connection.execute(
                """
                delete from accountctl.catalog_snapshot
                where object not in (select object from accountctl.catalog_drift)
                """
            )
            try connection.execute(
                present + """
                    insert into accountctl.catalog_snapshot (object, definition)
                    select object, definition
                    from present
                    where object not in (select object from accountctl.catalog_drift)
                    """
            )
            try connection.execute("delete from accountctl.catalog_drift where true")
        }
    }

    /// Whether a run died before it recorded the objects of the migrations that it applied or was about to apply.
    package static func isUnfinished(on connection: isolated Connection) throws -> Bool {
        guard try connection.one("select to_regclass('accountctl.catalog_drift') is not null", as: Bool.self) else {
            return false
        }
        return try connection.one("select exists (select from accountctl.catalog_drift)", as: Bool.self)
    }

    /// The differences from the snapshot, ordered by object, read in a transaction of its own.
    package static func differences(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction(readOnly: true) { connection in
            try differencesInTransaction(on: connection)
        }
    }

    /// Makes the catalogs print in one form until the transaction ends, whatever the settings of the role or the
    /// database.
    ///
    /// This also works behind a transaction pooler, where no session is set up. Nearly all existing snapshots were
    /// recorded with these settings.
    private static func fixForm(on connection: isolated Connection) throws {
        try connection.execute(
            """
            select
                set_config('search_path', 'public', true),
                set_config('quote_all_identifiers', 'off', true),
                set_config('intervalstyle', 'postgres', true)
            """
        )
    }

    /// A definition in the form that is compared.
    ///
    /// An owner's default rights and the same rights granted explicitly are equal, since a backup does not distinguish
    /// them. The MAINTAIN privilege, which exists since PostgreSQL 17, is ignored.
    private static func compared(_ definition: String) -> Statement {
        Statement(
            unsafeSQL: """
                regexp_replace(
                    replace(
                        case
                            when \(definition) like 'kind v %' then \(unqualified(definition))
                            else \(definition)
                        end,
                        'arwdDxtm/', 'arwdDxt/'
                    ),
                    ' grants (\\S+)=arwdDxt/\\1( as |$)', ' grants \\2'
                )
                """
        )
    }

    /// A view's text without the table or function name that qualifies its columns, which PostgreSQL 16 and later print
    /// even if the view has only one.
    ///
    /// The name is the last word of the FROM clause. Directly after FROM it stays, since there it would be a schema.
    private static func unqualified(_ view: String) -> String {
        let name = #"substring(\#(view) from '\n   FROM (?!\()[^\n]*?(\w+)(?:\([^()\n]*\))?;?(?:\n|$)')"#
        return #"coalesce(regexp_replace(\#(view), '(?<!FROM )\m' || \#(name) || '\.(?=\w)', '', 'g'), \#(view))"#
    }

    private static func differencesInTransaction(on connection: isolated Connection) throws -> [Difference] {
        try fixForm(on: connection)
        return try connection.query(
            "with present as (" + objects
                + """
                )
                select coalesce(r.object, p.object), r.definition, p.definition
                from accountctl.catalog_snapshot as r
                full join present as p on p.object = r.object
                """ + " where " + compared("r.definition") + " is distinct from " + compared("p.definition")
                + " order by 1",
            as: (String, String?, String?).self
        )
        .map { object, recorded, present in
            Difference(
                kind: recorded == nil ? .added : present == nil ? .removed : .changed,
                object: object,
                recorded: recorded,
                present: present
            )
        }
    }

    /// Records the present state as the expected one, unless the differences are not the given ones.
    ///
    /// - Parameters:
    ///   - differences: the differences to accept.
    ///   - connection: the connection that holds the migration lock.
    ///   - recording: work to do in the same transaction as the recording.
    /// - Returns: Whether the state was recorded.
    /// - Throws: `PostgresError`, and what `recording` throws.
    static func accept(
        _ differences: [Difference],
        on connection: isolated Connection,
        recording: @Sendable (isolated Connection) throws -> Void
    ) async throws -> Bool {
        try await connection.transaction { connection in
            guard try differencesInTransaction(on: connection) == differences else { return false }
            try recording(connection)
            try connection.execute("delete from accountctl.catalog_snapshot where true")
            try connection.execute(
                "insert into accountctl.catalog_snapshot (object, definition) " + objects
            )
            if try isUnfinished(on: connection) {
                try connection.execute("delete from accountctl.catalog_drift where true")
            }
            return true
        }
    }
}
