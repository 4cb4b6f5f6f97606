import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The tables that record the engine's work.
enum MigrationHistory {
    /// The chosen bundles, and the applied migrations by number.
    typealias Contents = (bundles: [String], rows: [AppliedMigration])

    /// Creates the tables; requires ``MigrationLock``, since `if not exists` does not protect against a concurrent
    /// session.
    static func create(on connection: isolated Connection) async throws {
        try await connection.transaction { connection in
            try connection.script(
                unsafeSQL: """
                    create schema if not exists accountctl;
                    revoke all on schema accountctl from public;
                    do $$
                    declare
                        holder name;
                    begin
                        -- The default privileges of a database may open each new schema, such as to the roles of its API.
                        for holder in
                            select pg_get_userbyid(a.grantee)
                            from pg_namespace as n, aclexplode(n.nspacl) as a
                            where n.nspname = 'accountctl'
                              and a.grantee not in (0, n.nspowner)
                        loop
                            execute format('revoke all on schema accountctl from %I', holder);
                        end loop;
                    end
                    $$;
                    create table if not exists accountctl.migrations (
                        number integer not null constraint migrations_pkey primary key,
                        name text not null,
                        bundle text not null,
                        checksum text not null constraint migrations_checksum_form check (checksum ~ '^[0-9a-f]{64}$'),
                        state text not null constraint migrations_state_known check (state in ('started', 'done')),
                        applied_at timestamptz not null default clock_timestamp(),
                        applied_by name not null default session_user,
                        duration_ms integer not null constraint migrations_duration_sign check (duration_ms >= 0),
                        version text not null
                    );
                    comment on table accountctl.migrations is
                        'What the migration engine applied; a row is written in the transaction of its migration.';
                    comment on column accountctl.migrations.checksum is 'SHA-256 of the file, blanks at line ends aside.';
                    comment on column accountctl.migrations.state is 'done: applied. No row is in another state.';
                    create table if not exists accountctl.migration_bundles (
                        name text not null constraint migration_bundles_pkey primary key,
                        chosen_at timestamptz not null default clock_timestamp()
                    );
                    comment on table accountctl.migration_bundles is 'The bundles of migrations that this database wants.';
                    create table if not exists accountctl.catalog_snapshot (
                        object text not null constraint catalog_snapshot_pkey primary key,
                        definition text not null
                    );
                    comment on table accountctl.catalog_snapshot is
                        'What the catalogs said of our objects after the last migration; `migrate verify` compares.';
                    """
            )
        }
    }

    /// The contents of the tables; nil if they do not exist yet.
    static func read(on connection: isolated Connection) throws -> Contents? {
        guard try connection.one("select to_regclass('accountctl.migration_bundles') is not null", as: Bool.self) else {
            return nil
        }
        let bundles = try connection.query(
            "select name from accountctl.migration_bundles order by name",
            as: String.self
        )
        let rows = try connection.query(
            """
            select number, name, bundle, checksum, applied_at, applied_by::text, duration_ms, version
            from accountctl.migrations
            order by number
            """,
            as: (Int, String, String, String, Date, String, Int, String).self
        )
        return (
            bundles,
            rows.map { row in
                AppliedMigration(
                    number: row.0,
                    name: row.1,
                    bundle: row.2,
                    checksum: row.3,
                    appliedAt: row.4,
                    appliedBy: row.5,
                    milliseconds: row.6,
                    version: row.7
                )
            }
        )
    }

    /// Stores which of the known bundles are chosen; bundles that only other programs know are not changed.
    static func choose(_ bundles: [String], of known: [String], on connection: isolated Connection) throws {
        try connection.execute(
            """
            with given_up as (
                delete from accountctl.migration_bundles
                where name = any (\(known))
                  and name <> all (\(bundles))
            )
            insert into accountctl.migration_bundles (name)
            select unnest(\(bundles))
            on conflict do nothing
            """
        )
    }

    static func insert(
        _ migration: Migration,
        duration: Duration,
        version: String,
        on connection: isolated Connection
    ) throws {
        try connection.execute(
            """
            insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
            values (
                \(migration.number)::bigint, \(migration.name), \(migration.bundle), \(migration.checksum),
                'done', \(duration.wholeMilliseconds)::bigint, \(version)
            )
            """
        )
    }
}
