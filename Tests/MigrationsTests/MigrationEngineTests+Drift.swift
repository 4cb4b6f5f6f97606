import Foundation
import Migrations
import Postgres
import TestSupport
import Testing

extension MigrationEngineTests {
    @Test("Later changes by hand are found as drift; partitions added at run time are not")
    func drift() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(
                    1,
                    """
                    create table accountctl.t (id int primary key, state text not null check (state <> ''));
                    create table accountctl.h (at date) partition by range (at);
                    create function accountctl.f() returns int language sql as 'select 1';
                    """
                )
            )
            try await Self.up(set, database)
            func differences() async throws -> [String] {
                try await database.withConnection { connection in
                    try await CatalogSnapshot.differences(on: connection).map { "\($0.kind.rawValue) \($0.object)" }
                }
            }
            #expect(try await differences() == [])
            try await database.psql(
                "create table accountctl.h_1 partition of accountctl.h for values from ('2026-01-01') to ('2026-01-02')"
            )
            #expect(try await differences() == [])
            try await database.psql(
                """
                alter table accountctl.t alter column state drop not null, drop constraint t_state_check;
                create or replace function accountctl.f() returns int language sql as 'select 2';
                grant select on accountctl.t to anon;
                grant update (id) on accountctl.t to anon;
                create index extra on accountctl.t (state);
                create rule kept as on delete to accountctl.t do instead nothing;
                alter default privileges for role postgres in schema accountctl grant select on tables to anon;
                """
            )
            #expect(
                try await differences() == [
                    "changed column accountctl.t.id", "changed column accountctl.t.state",
                    "removed constraint accountctl.t.t_state_check",
                    "added default privileges of postgres in accountctl on r", "changed function accountctl.f()",
                    "added index accountctl.extra", "changed relation accountctl.t", "added rule kept on accountctl.t",
                ]
            )
            try await Self.acceptAll(set, database)
            #expect(try await differences() == [])
        }
    }

    private static func differences(_ database: TestDatabase) async throws -> [String] {
        try await database.withConnection { connection in
            try await CatalogSnapshot.differences(on: connection).map { "\($0.kind.rawValue) \($0.object)" }
        }
    }

    /// Returns the differences as read behind a transaction pooler, where the session settings are not applied.
    private static func pooledDifferences(_ database: TestDatabase) async throws -> [String] {
        var configuration = database.configuration
        configuration.pooler = .transaction
        return try await Connection.with(configuration, logger: .silent) { connection in
            try await CatalogSnapshot.differences(on: connection).map { "\($0.kind.rawValue) \($0.object)" }
        }
    }

    private static func acceptAll(_ set: MigrationSet, _ database: TestDatabase) async throws {
        let engine = engine(set, database)
        let isRecorded = try await database.withConnection { connection in
            try await engine.accept(CatalogSnapshot.differences(on: connection), on: connection)
        }
        #expect(isRecorded)
    }

    @Test("Another search_path or output style of a role or database is not reported as a difference")
    func driftByAnySetting() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(
                    1,
                    """
                    create type public.mood as enum ('fine');
                    create table public.profiles (id int primary key, mood public.mood);
                    create table accountctl.t (
                        id int references public.profiles,
                        mood public.mood default 'fine',
                        until timestamptz default now() + interval '1 day'
                    );
                    create function accountctl.f(m public.mood) returns int language sql as 'select 1';
                    create function accountctl.g() returns trigger language plpgsql as $$ begin return new; end $$;
                    create trigger look before insert on public.profiles for each row execute function accountctl.g();
                    create policy fine on public.profiles using (mood = 'fine'::public.mood);
                    create view accountctl.v as select p.id from public.profiles as p join accountctl.t using (id);
                    """
                )
            )
            try await Self.up(set, database)
            /// Changes a setting of the role in this database, which wins over those of the database and of the role.
            func alterRole(_ change: String) async throws {
                try await database.withConnection { connection in
                    try connection.script(
                        unsafeSQL: """
                            do $$ begin
                                execute format('alter role current_user in database %I ', current_database()) || $s$\(change)$s$;
                            end $$
                            """
                    )
                }
            }
            let settings = [
                "search_path = ''", "search_path = pg_catalog", "search_path = accountctl, public",
                "intervalstyle = iso_8601", "quote_all_identifiers = on",
            ]
            for setting in settings {
                try await alterRole("set \(setting)")
                #expect(try await Self.differences(database) == [], "with \(setting)")
                #expect(try await Self.pooledDifferences(database) == [], "with \(setting), behind a pooler")
            }
            // A snapshot recorded under other settings has the same form.
            let second = try Self.migration(2, "create table accountctl.u (mood public.mood);")
            try await Self.up(Self.set(set.migrations[0], second), database)
            try await alterRole("reset all")
            #expect(try await Self.differences(database) == [])
        }
    }

    @Test("The way in which another major version of the server prints a view is not reported as a difference")
    func driftByVersion() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(
                    1,
                    """
                    create table accountctl.t (id int, state text);
                    create view accountctl.v as select id, state from accountctl.t where state <> '';
                    create table public.t (id int, state text);
                    create view accountctl.w as select id, state from public.t where state <> '';
                    """
                )
            )
            try await Self.up(set, database)
            // The form that versions on the other side of 16 print: with or without the table before each column.
            let rewritten = try await database.psql(
                """
                with printed as (
                    select
                        object,
                        case
                            when current_setting('server_version_num')::int < 160000 then
                                regexp_replace(definition, '\\mt\\.', '', 'g')
                            else regexp_replace(definition, '\\m(id|state)\\M', 't.\\1', 'g')
                        end as definition
                    from accountctl.catalog_snapshot
                    where object in ('relation accountctl.v', 'relation accountctl.w')
                )
                update accountctl.catalog_snapshot as s
                set definition = p.definition
                from printed as p
                where p.object = s.object
                  and p.definition <> s.definition
                returning 1
                """
            )
            #expect(rewritten == "1\n1")
            #expect(try await Self.differences(database) == [])
            try await database.psql("create or replace view accountctl.v as select id, state from accountctl.t")
            #expect(try await Self.differences(database) == ["changed relation accountctl.v"])
            // A table of the same name in another schema is a different table.
            try await database.psql(
                """
                create schema other;
                create table other.t (id int, state text);
                create or replace view accountctl.w as select id, state from other.t where state <> '';
                """
            )
            #expect(
                try await Self.differences(database) == [
                    "changed relation accountctl.v", "changed relation accountctl.w",
                ]
            )
        }
    }

    @Test("A change is accepted only while no migration runs, and only if it is still the one that was shown")
    func acceptingWaits() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(Self.migration(1, "create table accountctl.t (id int primary key);"))
            try await Self.up(set, database)
            try await database.psql("create table accountctl.foreign_body ()")
            let seen = try await database.withConnection { try await CatalogSnapshot.differences(on: $0) }
            var options = MigrationEngine.Options()
            options.processPatience = .milliseconds(50)
            let engine = Self.engine(set, database, options: options)
            try await database.withConnection { other in
                try other.execute("select pg_advisory_lock(\(Int64(0x6163_636F_756E_7463)))")
                let error = await #expect(throws: MigrationError.self) {
                    try await database.withConnection { _ = try await engine.accept(seen, on: $0) }
                }
                #expect(error?.code == .lockHeld)
            }
            #expect(try await Self.differences(database) == ["added relation accountctl.foreign_body"])
            try await database.psql("create table accountctl.another ()")
            #expect(try await database.withConnection { try await engine.accept(seen, on: $0) } == false)
            try await database.psql("drop table accountctl.another")
            #expect(try await database.withConnection { try await engine.accept(seen, on: $0) })
            #expect(try await Self.differences(database) == [])
        }
    }

    @Test("Later migrations do not hide a change, and the objects that they create do not count as one")
    func driftOutlivesARun() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(
                1,
                """
                create table accountctl.t (id int primary key, state text not null);
                create function accountctl.f() returns int language sql as 'select 1';
                """
            )
            try await Self.up(Self.set(first), database)
            try await database.psql(
                """
                alter table accountctl.t alter column state drop not null;
                create table accountctl.foreign_body ();
                create or replace function accountctl.f() returns int language sql as 'select 2';
                """
            )
            let second = try Self.migration(
                2,
                """
                create table accountctl.u (id int primary key);
                create or replace function accountctl.f() returns int language sql as 'select 3';
                """
            )
            let told = Collected()
            let drift = ["changed column accountctl.t.state", "added relation accountctl.foreign_body"]
            try await Self.up(Self.set(first, second), database) { event in
                if case .drifted(let objects) = event { told.add(objects) }
            }
            #expect(
                told.all == [
                    "column accountctl.t.state", "function accountctl.f()", "relation accountctl.foreign_body",
                ]
            )
            // The function is as the second migration created it.
            #expect(try await Self.differences(database) == drift)
            try await Self.acceptAll(Self.set(first, second), database)
            #expect(try await Self.differences(database) == [])
        }
    }

    @Test("After the next run, the objects of a run that died before its end do not count as a change either")
    func aDeadRunLeavesNoDrift() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(1, "create table accountctl.t (id int primary key);")
            let good = try Self.migration(2, "create table accountctl.u (id int primary key);")
            let bad = try Self.migration(3, "select 1 / 0;")
            try await Self.up(Self.set(first), database)
            try await database.psql("create table accountctl.foreign_body ()")
            _ = await #expect(throws: MigrationError.self) { try await Self.up(Self.set(first, good, bad), database) }
            let isUnfinished = try await database.withConnection { try CatalogSnapshot.isUnfinished(on: $0) }
            #expect(isUnfinished)
            // The third migration was withdrawn: nothing is left to apply, but the snapshot must still be recorded.
            #expect(try await Self.up(Self.set(first, good), database).applied.isEmpty)
            #expect(try await Self.differences(database) == ["added relation accountctl.foreign_body"])
        }
    }
}
