import AccountLifecycle
import Foundation
import MailRelay
import Postgres
import Sealing
import TestSupport
import Testing

@Suite("Accounts are found by anything one was told", .timeLimit(.minutes(5)))
struct AccountDirectoryTests {
    private static let anna = UUID(uuidString: "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f") ?? UUID()
    private static let sub = "001234.0123456789abcdef0123456789abcdef.0123"

    private static let people = """
        insert into auth.users (instance_id, id, aud, role, email, phone, created_at, is_sso_user, deleted_at, banned_until)
        values
            ('00000000-0000-0000-0000-000000000000', '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f', 'authenticated', 'authenticated',
             'anna@example.com', '491511234567', now(), false, null, null),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000002', 'authenticated', 'authenticated',
             'joanna@example.com', null, now(), false, null, now() + interval '1 day'),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000003', 'authenticated', 'authenticated',
             'Mixed@Example.com', null, now(), false, now(), null),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000004', 'authenticated', 'authenticated',
             'anna@example.com', null, now(), true, null, null);
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        values
            ('\(sub)', '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f',
             '{"email": "abc123@privaterelay.appleid.com", "custom_claims": {"is_private_email": true}}', 'apple', now()),
            ('g-1', '00000000-0000-4000-8000-000000000002', '{"email": "joanna@example.com"}', 'google', now());
        """

    private func find(
        _ text: String,
        _ comparison: LookupComparison = .exact,
        by kind: LookupKind? = nil,
        in database: TestDatabase,
        hashKey: HashKey? = nil
    ) async throws -> LookupAnswer {
        let term = try #require(LookupTerm(text, as: kind, compared: comparison))
        let directory = AccountDirectory(hashKey: hashKey)
        return try await database.withConnection { connection in
            try directory.find(term, on: connection)
        }
    }

    @Test("By every kind, exactly, with nobody whose address is only longer")
    func exact() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql("update public.profiles set username = 'anna_k' where id = '\(Self.anna)'")
            let terms: [(String, LookupKind)] = [
                (Self.anna.uuidString, .userID), ("+49 151 1234567", .phone), (Self.sub, .appleSub),
                ("anna_k", .username), ("ABC123@privaterelay.appleid.com", .email),
            ]
            for (text, kind) in terms {
                let answer = try await find(text, in: database)
                #expect(answer.matches.map(\.id) == [Self.anna], "\(text)")
                #expect(answer.matches.first?.matched == [kind], "\(text)")
            }
            // An enterprise account may have the same address: both are told.
            #expect(try await find("ANNA@example.com", in: database).matches.count == 2)
            #expect(try await find("mixed@example.com", in: database).matches.count == 1)
            #expect(try await find("g-1", in: database).matches.first?.matched == [.providerID])
            #expect(try await find("nobody@example.com", in: database).matches.isEmpty)
        }
    }

    @Test("Not by an address that people gave of themselves when they signed up otherwise")
    func unchecked() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider)
                select id::text, id, '{"sub": "", "email": "victim@example.com"}', 'phone' from auth.users where id = '\(Self.anna)'
                """
            )
            #expect(try await find("victim@example.com", in: database).matches.isEmpty)
            #expect(try await find("victim", .prefix, in: database).matches.isEmpty)
        }
    }

    @Test("By the start and by a part, with what like would take for a wildcard taken at its word")
    func parts() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql("update public.profiles set username = 'anna%k' where id = '\(Self.anna)'")
            try await database.psql(
                "update public.profiles set username = 'joanna\u{301}' where id = '00000000-0000-4000-8000-000000000002'"
            )
            #expect(try await find("joan", .prefix, in: database).matches.map(\.email) == ["joanna@example.com"])
            #expect(try await find("anna%", .prefix, in: database).matches.map(\.id) == [Self.anna])
            #expect(try await find("NNA@EX", .contains, in: database).matches.count == 3)
            #expect(try await find("_nna", .contains, in: database).matches.isEmpty)
            #expect(try await find("joan%\u{301}", .contains, in: database).matches.isEmpty)
        }
    }

    @Test("The start of anything is looked for in an index, however many accounts there are")
    func startsByIndex() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                set session_replication_role = replica;
                insert into auth.users (instance_id, id, email, phone, created_at)
                select '00000000-0000-0000-0000-000000000000', md5('u' || n)::uuid, 'person-' || n || '@example.com',
                    '49151' || lpad(n::text, 8, '0'), now()
                from generate_series(1, 60000) as n;
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                select '001234.' || md5(n::text) || '.0001', md5('u' || n)::uuid,
                    jsonb_build_object('email', 'relay-' || n || '@privaterelay.appleid.com'), 'apple', now()
                from generate_series(1, 60000) as n;
                insert into public.profiles (id, username) select md5('u' || n)::uuid, 'person_' || n
                from generate_series(1, 60000) as n;
                """
            )
            try await database.psql("vacuum analyze auth.users, auth.identities, public.profiles")
            let terms: [(text: String, branches: Int)] = [
                ("person-4711", 5), ("Relay-4711", 5), ("+49 151 00004", 1), ("+4915100004", 1), ("49151000047", 7),
                ("001234.abc", 5), ("abcdef01-2", 6),
            ]
            for (text, branches) in terms {
                let term = try #require(LookupTerm(text, compared: .prefix))
                let directory = AccountDirectory(hashKey: nil)
                let schema = DirectorySchema(isInstalled: true, usernames: .indexed)
                let statement = try #require(directory.candidates(term, in: schema))
                let plan = try await database.withConnection { connection in
                    try connection.query("explain (costs off) " + statement, as: String.self)
                }
                // There are no requests; a table of none is read as it likes.
                let scans = plan.filter { line in
                    line.contains(" Scan")
                        && !["Bitmap Heap", "Subquery", "deletion_requests"].contains { line.contains($0) }
                }
                #expect(scans.count == branches, "\(text): \(plan.joined(separator: "\n"))")
                #expect(scans.allSatisfy { $0.contains("Index") }, "\(text): \(plan.joined(separator: "\n"))")
            }
        }
    }

    @Test("The states are told apart")
    func standings() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            func word(_ id: String) async throws -> String? {
                try await find(id, in: database).matches.first?.standing.word
            }
            #expect(try await word(Self.anna.uuidString) == "active")
            #expect(try await word("00000000-0000-4000-8000-000000000002") == "banned")
            #expect(try await word("00000000-0000-4000-8000-000000000003") == "soft_deleted")
            try await database.psql(
                """
                insert into accountctl.deletion_requests (id, user_id, origin, state, run_after, legal_deadline)
                values ('00000000-0000-4000-8000-00000000000a', '\(Self.anna)', 'app', 'grace', now(), now() + interval '1 month')
                """
            )
            #expect(try await word(Self.anna.uuidString) == "deletion_grace")
            let byRequest = try await find("00000000-0000-4000-8000-00000000000a", in: database)
            #expect(byRequest.matches.map(\.id) == [Self.anna])
            #expect(byRequest.matches.first?.matched == [.request])
        }
    }

    @Test(
        "An erased account is found by its id, its request and its receipt, and is not the same as one that never was"
    )
    func erased() async throws {
        try await TestDatabase.with(.migrated) { database in
            let key = HashKey(SealingKey.random(id: try #require(KeyID("h1"))))
            let hash = key.hash(Self.anna.uuidString.lowercased(), purpose: "account")
            try await database.withConnection(asAdministrator: true) { connection in
                try connection.execute(
                    """
                    insert into accountctl.deletion_requests
                        (id, subject_hash, subject_key_id, origin, state, run_after, legal_deadline, locked_out_at, finished_at)
                    values ('00000000-0000-4000-8000-00000000000a', \(hash), 'h1', 'app', 'verified', now(),
                            now() + interval '1 month', now(), now())
                    """
                )
                try connection.execute(
                    """
                    insert into accountctl.deletion_receipts (request_id, subject_hash, subject_key_id, document, seal)
                    values ('00000000-0000-4000-8000-00000000000a', \(hash), 'h1', '{}', '\\x00')
                    """
                )
            }
            for text in [Self.anna.uuidString, "00000000-0000-4000-8000-00000000000a", "#1"] {
                let answer = try await find(text, in: database, hashKey: key)
                #expect(answer.matches.isEmpty)
                #expect(answer.erased.map(\.receipt) == [1], "\(text)")
            }
            let without = try await find(Self.anna.uuidString, in: database)
            #expect(without.doubt == .noHashKey)
            let never = try await find(UUID().uuidString, in: database, hashKey: key)
            #expect(never.erased.isEmpty && never.doubt == nil)
            // A request's id is no hash.
            let request = try await find(UUID().uuidString, by: .request, in: database)
            #expect(request.isAbsent && request.doubt == nil)
        }
    }

    @Test("Without our schema and without profiles people are found all the same")
    func platformOnly() async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.psql(Self.people)
            #expect(try await find(Self.sub, in: database).matches.map(\.id) == [Self.anna])
            #expect(try await find("anna", in: database).matches.isEmpty)
            // Nothing here knows of accounts that are gone.
            let hashKey = HashKey(SealingKey.random(id: try #require(KeyID("hash"))))
            for (text, isUnknown) in [(UUID().uuidString, true), ("42", true), ("nobody@example.com", false)] {
                let none = try await find(text, in: database, hashKey: hashKey)
                #expect(none.doubt == (isUnknown ? .notInstalled : nil) && !none.isInstalled, "\(text)")
            }
            let match = try #require(try await find(Self.sub, in: database).matches.first)
            let report = try await database.withConnection { connection in
                try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
            }
            #expect(report?.relay?.address == "abc123@privaterelay.appleid.com")
            #expect(report?.relay?.knownBy == "claim")
            #expect(report?.profile == nil)
        }
    }

    @Test("The report tells what stands in the way of deleting")
    func report() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                create table public.posts (id int, author uuid references auth.users);
                insert into public.posts values (1, '\(Self.anna)'), (2, '\(Self.anna)');
                insert into storage.objects (bucket_id, name, metadata)
                values ('avatars', upper('\(Self.anna)') || '/a.png', '{"size": 2048}');
                insert into accountctl.holds (user_id, reason, placed_by) values ('\(Self.anna)', 'case 7', 'legal');
                """
            )
            let match = try #require(try await find(Self.sub, in: database).matches.first)
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
            // Once its deletion has revoked, none has to be held.
            for (outcome, isWarned) in [("revoked", false), ("pending", false), ("not_held", true)] {
                try await database.psql(
                    """
                    select accountctl.open_deletion_request('\(Self.anna)', 'app');
                    update accountctl.deletion_requests set apple_outcome = '\(outcome)'
                    """
                )
                let match = try #require(try await find(Self.sub, in: database).matches.first)
                let later = try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
                #expect(later?.warnings.contains(.noCredential) == isWarned, "\(outcome)")
            }
        }
    }

    @Test("The report tells of tables that refer to the profile, and forbids nothing for rows that were not counted")
    func dependentsOfProfile() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                create table public.posts (profile uuid references public.profiles on delete cascade);
                create table public.invoices (profile uuid references public.profiles);
                create table public.notes (profile uuid references public.profiles on delete set null);
                create table public.large (account uuid references auth.users, more text);
                grant select on public.posts, public.invoices, public.notes, public.large to postgres;
                insert into public.posts select '\(Self.anna)' from generate_series(1, 37);
                insert into public.invoices values ('\(Self.anna)');
                alter table public.large alter more set storage plain;
                insert into public.large select null, repeat('x', 7000) from generate_series(1, 1030)
                """
            )
            let match = try #require(try await find(Self.sub, in: database).matches.first)
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

    /// How many files Anna has in each bucket, and how many are shared.
    private func files(_ database: TestDatabase, searching path: String = "public") async throws -> [[Int?]]? {
        let match = try #require(try await find(Self.sub, in: database).matches.first)
        return try await database.withConnection { connection in
            try connection.execute("select set_config('search_path', \(path), false)")
            return try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
        }?.files.map { [Optional($0.count), $0.shared] }
    }

    @Test("Which files are shared is told, but not where very many profiles had to be read for it")
    func sharedFiles() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'team.png');
                update public.profiles set avatar_url = 'team.png'
                """
            )
            let alone = try await files(database)
            #expect(alone == [[0, 1]])
            try await database.psql(
                "insert into storage.objects (bucket_id, name) values ('avatars', '\(Self.anna)/a.png')"
            )
            let own = try await files(database)
            #expect(own == [[1, 1]])
            // A page for each: 64 MB and a little more.
            try await database.psql(
                """
                set session_replication_role = replica;
                alter table public.profiles alter full_name set storage plain;
                insert into public.profiles (id, full_name) select gen_random_uuid(), repeat('x', 7000) from generate_series(1, 8300)
                """
            )
            let large = try await files(database)
            #expect(large == [[2, nil]])
            // Partitioned, the table itself has no pages.
            try await database.psql(
                """
                set session_replication_role = replica;
                alter table public.profiles rename to former_profiles;
                create table public.profiles (
                    like public.former_profiles including storage,
                    primary key (id),
                    foreign key (id) references auth.users
                ) partition by hash (id);
                create table public.all_profiles partition of public.profiles for values with (modulus 1, remainder 0);
                insert into public.profiles select * from public.former_profiles;
                grant select on public.profiles to postgres
                """
            )
            let partitioned = try await files(database)
            #expect(partitioned == [[2, nil]])
            // What nobody can share needs no reading.
            try await database.psql("update public.profiles set avatar_url = '' where id = '\(Self.anna)'")
            let nothing = try await files(database)
            #expect(nothing == [[1, 0]])
        }
    }

    @Test("A file that the profile names is the account's, whatever column keys the profiles")
    func filesByOtherKey() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'anna.png');
                update public.profiles set avatar_url = 'anna.png' where id = '\(Self.anna)';
                alter table public.profiles rename column id to user_id
                """
            )
            let own = try await files(database)
            #expect(own == [[1, 0]])
        }
    }

    @Test("Rows are counted where that takes no time, whether a table is partitioned or not")
    func rowsOfTables() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                create table public.few (account uuid references auth.users);
                create table public.many (account uuid references auth.users, more text);
                create table public.parts (account uuid references auth.users, more text) partition by list (account);
                create table public."few""\u{301}" (account uuid references auth.users);
                insert into public."few""\u{301}" values ('\(Self.anna)');
                create table public.some_parts partition of public.parts default;
                create table public.more_parts partition of public.parts for values in ('\(Self.anna)');
                grant select on public.few, public."few""\u{301}", public.many, public.parts to postgres;
                insert into public.few select '\(Self.anna)' from generate_series(1, 3);
                alter table public.many alter more set storage plain;
                insert into public.many select '\(Self.anna)', repeat('x', 7000) from generate_series(1, 1030);
                alter table public.more_parts alter more set storage plain;
                insert into public.parts select * from public.many
                """
            )
            let match = try #require(try await find(Self.sub, in: database).matches.first)
            func rows() async throws -> [String: Int?]? {
                let report = try await database.withConnection { connection in
                    try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
                }
                let tables = report?.dependents.filter { $0.table != "public.profiles" }
                return tables.map { Dictionary(uniqueKeysWithValues: $0.map { ($0.table, $0.rows) }) }
            }
            // To the server the accent makes no other character of the quotation mark.
            let odd = "public.few\"\u{301}"
            let unindexed = try await rows()
            #expect(unindexed == ["public.few": 3, odd: 1, "public.many": nil, "public.parts": nil])
            try await database.psql("create index on public.many (account); create index on public.parts (account)")
            let indexed = try await rows()
            #expect(indexed == ["public.few": 3, odd: 1, "public.many": 1030, "public.parts": 1030])
        }
    }

    @Test("A table that our role may not read, or that takes long, is told without its rows, and everything else is")
    func uncountedTables() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                """
                create table public.closed (account uuid references auth.users);
                create table public.filled (account uuid references auth.users);
                create table public.hollow (account uuid references auth.users);
                insert into public.filled values ('\(Self.anna)');
                insert into public.closed values ('\(Self.anna)')
                """
            )
            let match = try #require(try await find(Self.sub, in: database).matches.first)
            // The role postgres reads all there is.
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
            // Found before the server's own, and called for each row.
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

    @Test("A profile with a column of any name is shown whole")
    func profileColumns() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            try await database.psql(
                "alter table public.profiles add p jsonb; update public.profiles set p = '[1]', full_name = 'Anna K.'"
            )
            let match = try #require(try await find(Self.sub, in: database).matches.first)
            let report = try await database.withConnection { connection in
                try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
            }
            #expect(report?.profile?["full_name"]?.text == "Anna K." && report?.profile?["p"]?.text == "[1]")
        }
    }

    @Test("Where few profiles take long to read, which files are shared is not told, and everything else is")
    func slowProfiles() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.people)
            // Found before the server's own, which the search calls for each profile.
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name) values ('avatars', 'team.png');
                update public.profiles set avatar_url = 'team.png';
                create function public.translate(text, text, text) returns text language sql as 'select $1 from pg_sleep(20)'
                """
            )
            #expect(try await files(database, searching: "public, pg_catalog") == [[1, nil]])
        }
    }
}
