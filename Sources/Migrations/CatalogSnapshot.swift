package import Postgres

/// What the catalogs say of the objects that the migrations made, as text that can be compared.
package enum CatalogSnapshot {
    /// Prepares a run: notes what differs already, so that the run does not take it for its own doing.
    ///
    /// What it notes is committed before the first migration is: a run that dies is made good by the next one,
    /// ``isUnfinished(on:)``.
    ///
    /// - Returns: What differs.
    static func begin(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction { connection in
            // Before the first record everything would differ.
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

    /// Records what is there now as what should be there, except what differed before the run and was not touched by
    /// it.
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
            try connection.execute("delete from accountctl.catalog_drift")
        }
    }

    /// Whether a run applied migrations, or was about to, and died before it recorded what they made.
    package static func isUnfinished(on connection: isolated Connection) throws -> Bool {
        guard try connection.one("select to_regclass('accountctl.catalog_drift') is not null", as: Bool.self) else {
            return false
        }
        return try connection.one("select exists (select from accountctl.catalog_drift)", as: Bool.self)
    }

    /// What differs from what was recorded, in the order of the objects' names; in a transaction of its own.
    package static func differences(on connection: isolated Connection) async throws -> [Difference] {
        try await connection.transaction(readOnly: true) { connection in
            try differencesInTransaction(on: connection)
        }
    }

    /// Has the catalogs print in one form, until the transaction ends, whatever settings the role or the database has;
    /// also behind a transaction pooler, where no session is set up.
    ///
    /// By these nearly all snapshots that are out there were recorded.
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

    /// A definition in the form in which it is compared.
    ///
    /// An owner's rights that are granted by nobody and those that are written out are the same, and a backup does not
    /// keep them apart; nor does the right to maintain a table count, which PostgreSQL has from 17 on.
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

    /// A view's text without the name of its table, or function, before columns: from PostgreSQL 16 on it is printed so
    /// where a view has only one.
    ///
    /// The name is the last word behind FROM. Right behind FROM it stays, since a schema has that name there.
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

    /// Records what is there now as what should be there, unless what differs is something else than was said.
    ///
    /// - Parameters:
    ///   - differences: what was said.
    ///   - connection: holds the lock of migrations.
    ///   - recording: what is done in the same transaction where it is recorded.
    /// - Returns: Whether it was recorded.
    /// - Throws: `PostgresError`, and what `recording` throws.
    static func accept(
        _ differences: [Difference],
        on connection: isolated Connection,
        recording: @Sendable (isolated Connection) throws -> Void
    ) async throws -> Bool {
        try await connection.transaction { connection in
            guard try differencesInTransaction(on: connection) == differences else { return false }
            try recording(connection)
            try connection.execute("delete from accountctl.catalog_snapshot")
            try connection.execute(
                "insert into accountctl.catalog_snapshot (object, definition) " + objects
            )
            if try isUnfinished(on: connection) { try connection.execute("delete from accountctl.catalog_drift") }
            return true
        }
    }
}
