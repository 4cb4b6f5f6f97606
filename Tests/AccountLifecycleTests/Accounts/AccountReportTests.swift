import AccountLifecycle
import Foundation
import MailRelay
import Postgres
import TestSupport
import Testing

@Suite("The report of an account names what blocks its deletion", .timeLimit(.minutes(5)))
struct AccountReportTests {
    @Test("The report warns of blocking rows, of holds, and of a missing Apple credential")
    func report() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                """
                create table public.posts (id int, author uuid references auth.users);
                insert into public.posts values (1, '\(DirectoryPeople.anna)'), (2, '\(DirectoryPeople.anna)');
                insert into storage.objects (bucket_id, name, metadata)
                values ('avatars', upper('\(DirectoryPeople.anna)') || '/a.png', '{"size": 2048}');
                insert into accountctl.holds (user_id, reason, placed_by) values ('\(DirectoryPeople.anna)', 'case 7', 'legal');
                """
            )
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            let report = try #require(
                try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
            )
            let posts = try #require(report.dependents.first { $0.table == "public.posts" })
            #expect(posts.rows == 2)
            #expect(posts.onDelete == "no action")
            #expect(report.files.map(\.count) == [1])
            #expect(report.files.first?.bytes == 2048)
            #expect(report.holds.map(\.reason) == ["case 7"])
            #expect(report.warnings == [.noCredential, .blockingRows(posts), .held])
            // A credential need not be held once the deletion has revoked it or handed it over.
            for (outcome, isWarned) in [("revoked", false), ("pending", false), ("not_held", true)] {
                try await database.psql(
                    """
                    select accountctl.open_deletion_request('\(DirectoryPeople.anna)', 'app');
                    update accountctl.deletion_requests set apple_outcome = '\(outcome)'
                    """
                )
                let match = try #require(
                    try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first
                )
                let later = try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
                #expect(later?.warnings.contains(.noCredential) == isWarned, "\(outcome)")
            }
        }
    }

    @Test("The report lists tables that refer to the profile, and warns of uncounted rows that may block the deletion")
    func dependentsOfProfile() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                """
                create table public.posts (profile uuid references public.profiles on delete cascade);
                create table public.invoices (profile uuid references public.profiles);
                create table public.notes (profile uuid references public.profiles on delete set null);
                create table public.large (account uuid references auth.users, more text);
                grant select on public.posts, public.invoices, public.notes, public.large to postgres;
                insert into public.posts select '\(DirectoryPeople.anna)' from generate_series(1, 37);
                insert into public.invoices values ('\(DirectoryPeople.anna)');
                alter table public.large alter more set storage plain;
                insert into public.large select null, repeat('x', 7000) from generate_series(1, 1030)
                """
            )
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            let report = try #require(
                try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
            )
            let told = report.dependents.filter { $0.column == "profile" }
            #expect(told.map(\.table) == ["public.invoices", "public.notes", "public.posts"])
            #expect(told.map(\.rows) == [1, 0, 37])
            #expect(told.map(\.onDelete) == ["no action", "set null", "cascade"])
            let blocking = report.dependents.filter { ["public.invoices", "public.large"].contains($0.table) }
            #expect(blocking.map(\.rows) == [1, nil])
            #expect(report.warnings == [.noCredential] + blocking.map(AccountReport.Warning.blockingRows))
        }
    }

    @Test("Rows are counted where that is quick, whether or not a table is partitioned")
    func rowsOfTables() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                """
                create table public.few (account uuid references auth.users);
                create table public.many (account uuid references auth.users, more text);
                create table public.parts (account uuid references auth.users, more text) partition by list (account);
                create table public."few""\u{301}" (account uuid references auth.users);
                insert into public."few""\u{301}" values ('\(DirectoryPeople.anna)');
                create table public.some_parts partition of public.parts default;
                create table public.more_parts partition of public.parts for values in ('\(DirectoryPeople.anna)');
                grant select on public.few, public."few""\u{301}", public.many, public.parts to postgres;
                insert into public.few select '\(DirectoryPeople.anna)' from generate_series(1, 3);
                alter table public.many alter more set storage plain;
                insert into public.many select '\(DirectoryPeople.anna)', repeat('x', 7000) from generate_series(1, 1030);
                alter table public.more_parts alter more set storage plain;
                insert into public.parts select * from public.many
                """
            )
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            func rows() async throws -> [String: Int?]? {
                let report = try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
                let tables = report?.dependents.filter { $0.table != "public.profiles" }
                return tables.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.table, $0.rows) }) }
            }
            // To the server, a quotation mark followed by a combining accent is still a quotation mark.
            let odd = "public.few\"\u{301}"
            let unindexed = try await rows()
            #expect(unindexed == ["public.few": 3, odd: 1, "public.many": nil, "public.parts": nil])
            try await database.psql("create index on public.many (account); create index on public.parts (account)")
            let indexed = try await rows()
            #expect(indexed == ["public.few": 3, odd: 1, "public.many": 1030, "public.parts": 1030])
        }
    }

    @Test("A table that our role may not read, or that is slow, is listed without a row count; the rest is complete")
    func uncountedTables() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                """
                create table public.closed (account uuid references auth.users);
                create table public.filled (account uuid references auth.users);
                create table public.hollow (account uuid references auth.users);
                insert into public.filled values ('\(DirectoryPeople.anna)');
                insert into public.closed values ('\(DirectoryPeople.anna)')
                """
            )
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            // The role postgres may read every table, so this test needs a role of its own.
            let role = "reader_" + UUID().uuidString.filter(\.isHexDigit).lowercased()
            let schemas = "public, auth, storage, accountctl"
            try await database.psql(
                """
                create role \(role) bypassrls;
                grant usage on schema \(schemas) to \(role);
                grant select on all tables in schema \(schemas) to \(role);
                grant execute on all functions in schema accountctl to \(role);
                revoke all on public.closed from \(role)
                """
            )
            func rows(searching path: String = "public") async throws -> [String: Int?]? {
                let report = try await database.withConnection(asAdministrator: true) { connection in
                    try connection.execute(
                        "select set_config('search_path', \(path), false), set_config('role', \(role), false)"
                    )
                    return try await AccountReport.read(
                        match,
                        hashKey: nil,
                        relayDomains: RelayDomains(),
                        counting: (all: .seconds(60), one: .seconds(2)),
                        on: connection
                    )
                }
                let tables = report?.dependents.filter { $0.table != "public.profiles" }
                return tables.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.table, $0.rows) }) }
            }
            let read = try await rows()
            #expect(read == ["public.closed": nil, "public.filled": 1, "public.hollow": 0])
            // This aggregate is found before the server's own, and is slow for each row.
            try await database.psql(
                """
                create function public.slow(bigint) returns bigint language sql as 'select $1 + 1 from pg_sleep(20)';
                create aggregate public.count(*) (sfunc = public.slow, stype = bigint, initcond = '0')
                """
            )
            let slow = try await rows(searching: "public, pg_catalog")
            #expect(slow == ["public.closed": nil, "public.filled": nil, "public.hollow": 0])
            try await database.psql("drop owned by \(role); drop role \(role)")
        }
    }

    @Test("A profile is shown in full, whatever its columns are called")
    func profileColumns() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                "alter table public.profiles add p jsonb; update public.profiles set p = '[1]', full_name = 'Anna K.'"
            )
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            let report = try await database.withConnection { connection in
                try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
            }
            #expect(report?.profile?["full_name"]?.text == "Anna K." && report?.profile?["p"]?.text == "[1]")
        }
    }

    @Test("A profile value whose type has a cast to JSON is shown as text: the cast would run as the operator")
    func profileCasts() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                create type public.mood as enum ('happy');
                create function public.mood_json(public.mood) returns json language sql as
                $$ select '"forged"'::json $$;
                create cast (public.mood as json) with function public.mood_json(public.mood);
                alter table public.profiles add mood public.mood default 'happy', add unset public.mood;
                """
            )
            try await database.psql(DirectoryPeople.sql)
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            let report = try await database.withConnection { connection in
                try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
            }
            let profile = try #require(report?.profile)
            #expect(profile["mood"]?.text == "happy")
            #expect(profile["unset"] != nil && profile["unset"]?.text == nil)
        }
    }
}
