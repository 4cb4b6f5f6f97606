import AccountLifecycle
import Foundation
import MailRelay
import Postgres
import Sealing
import TestSupport
import Testing

@Suite("Accounts are found by any identifier that a person may give", .timeLimit(.minutes(5)))
struct AccountDirectoryTests {
    @Test("An exact search finds every kind of identifier, and no longer address")
    func exact() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                "update public.profiles set username = 'anna_k' where id = '\(DirectoryPeople.anna)'"
            )
            let terms: [(String, LookupKind)] = [
                (DirectoryPeople.anna.uuidString, .userID), ("+49 151 1234567", .phone),
                (DirectoryPeople.sub, .appleSub),
                ("anna_k", .username), ("ABC123@privaterelay.appleid.com", .email),
            ]
            for (text, kind) in terms {
                let answer = try await DirectoryPeople.find(text, in: database)
                #expect(answer.matches.map(\.id) == [DirectoryPeople.anna], "\(text)")
                #expect(answer.matches.first?.matched == [kind], "\(text)")
            }
            // An event of Apple may have named another relay address than the identity has.
            try await database.psql(
                """
                insert into accountctl.relay_addresses (user_id, address)
                values ('\(DirectoryPeople.anna)', 'told@private.icloud.com')
                """
            )
            for comparison: LookupComparison in [.exact, .prefix, .contains] {
                let told = try await DirectoryPeople.find("Told@private.icloud.com", comparison, in: database).matches
                #expect(told.map(\.id) == [DirectoryPeople.anna] && told.map(\.matched) == [[.email]])
            }
            // An enterprise account may have the same address: the search returns both.
            #expect(try await DirectoryPeople.find("ANNA@example.com", in: database).matches.count == 2)
            #expect(try await DirectoryPeople.find("mixed@example.com", in: database).matches.count == 1)
            #expect(try await DirectoryPeople.find("g-1", in: database).matches.first?.matched == [.providerID])
            #expect(try await DirectoryPeople.find("nobody@example.com", in: database).matches.isEmpty)
        }
    }

    @Test("The search calls the server's own lower(), even if the app defines one for the column's exact type")
    func ownFunctions() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                "create function public.lower(varchar) returns text language sql as $$ select 'x' $$"
            )
            #expect(try await DirectoryPeople.find("mixed@example.com", in: database).matches.count == 1)
            #expect(try await DirectoryPeople.find("mixed@", .prefix, in: database).matches.count == 1)
        }
    }

    @Test("An address that people merely claimed when they signed up by another method finds nobody")
    func unchecked() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider)
                select id::text, id, '{"sub": "", "email": "victim@example.com"}', 'phone' from auth.users where id = '\(DirectoryPeople.anna)'
                """
            )
            #expect(try await DirectoryPeople.find("victim@example.com", in: database).matches.isEmpty)
            #expect(try await DirectoryPeople.find("victim", .prefix, in: database).matches.isEmpty)
        }
    }

    @Test("Searches by prefix and by substring take the wildcards of LIKE literally")
    func parts() async throws {
        try await DirectoryPeople.with { database in
            try await database.psql(
                "update public.profiles set username = 'anna%k' where id = '\(DirectoryPeople.anna)'"
            )
            try await database.psql(
                "update public.profiles set username = 'joanna\u{301}' where id = '00000000-0000-4000-8000-000000000002'"
            )
            #expect(
                try await DirectoryPeople.find("joan", .prefix, in: database).matches.map(\.email) == [
                    "joanna@example.com"
                ]
            )
            #expect(
                try await DirectoryPeople.find("anna%", .prefix, in: database).matches.map(\.id) == [
                    DirectoryPeople.anna
                ]
            )
            #expect(try await DirectoryPeople.find("NNA@EX", .contains, in: database).matches.count == 3)
            #expect(try await DirectoryPeople.find("_nna", .contains, in: database).matches.isEmpty)
            #expect(try await DirectoryPeople.find("joan%\u{301}", .contains, in: database).matches.isEmpty)
        }
    }

    @Test("Every search by prefix uses indexes, however many accounts there are")
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
                insert into accountctl.relay_addresses (user_id, address)
                select md5('u' || n)::uuid, 'told-' || n || '@privaterelay.appleid.com'
                from generate_series(1, 60000) as n;
                """
            )
            try await database.psql(
                "vacuum analyze auth.users, auth.identities, public.profiles, accountctl.relay_addresses"
            )
            let terms: [(text: String, branches: Int)] = [
                ("person-4711", 6), ("Relay-4711", 6), ("+49 151 00004", 1), ("+4915100004", 1), ("49151000047", 8),
                ("001234.abc", 6), ("abcdef01-2", 7),
            ]
            for (text, branches) in terms {
                let term = try #require(LookupTerm(text, compared: .prefix))
                let directory = AccountDirectory(hashKey: nil)
                let schema = DirectorySchema(isInstalled: true, usernames: .indexed)
                let statement = try #require(directory.candidates(term, in: schema))
                let plan = try await database.withConnection { connection in
                    try connection.query("explain (costs off) " + statement, as: String.self)
                }
                // There are no deletion requests, and the planner may scan an empty table in any way.
                let scans = plan.filter { line in
                    line.contains(" Scan")
                        && !["Bitmap Heap", "Subquery", "deletion_requests"].contains { line.contains($0) }
                }
                #expect(scans.count == branches, "\(text): \(plan.joined(separator: "\n"))")
                #expect(scans.allSatisfy { $0.contains("Index") }, "\(text): \(plan.joined(separator: "\n"))")
            }
        }
    }

    @Test("The search distinguishes the states of accounts")
    func standings() async throws {
        try await DirectoryPeople.with { database in
            func word(_ id: String) async throws -> String? {
                try await DirectoryPeople.find(id, in: database).matches.first?.standing.state.word
            }
            #expect(try await word(DirectoryPeople.anna.uuidString) == "active")
            #expect(try await word("00000000-0000-4000-8000-000000000002") == "banned")
            #expect(try await word("00000000-0000-4000-8000-000000000003") == "soft_deleted")
            try await database.psql(
                """
                insert into accountctl.deletion_requests (id, user_id, origin, state, run_after, legal_deadline)
                values ('00000000-0000-4000-8000-00000000000a', '\(DirectoryPeople.anna)', 'app', 'grace', now(), now() + interval '1 month')
                """
            )
            #expect(try await word(DirectoryPeople.anna.uuidString) == "deletion_grace")
            let byRequest = try await DirectoryPeople.find("00000000-0000-4000-8000-00000000000a", in: database)
            #expect(byRequest.matches.map(\.id) == [DirectoryPeople.anna])
            #expect(byRequest.matches.first?.matched == [.request])
        }
    }

    @Test(
        "An erased account is found by its id, request and receipt, and is distinguished from one that never existed"
    )
    func erased() async throws {
        try await TestDatabase.with(.migrated) { database in
            let key = try HashKey(.named("h1"))
            let hash = key.hash(DirectoryPeople.anna.text, purpose: "account")
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
            for text in [DirectoryPeople.anna.uuidString, "00000000-0000-4000-8000-00000000000a", "#1"] {
                let answer = try await DirectoryPeople.find(text, in: database, hashKey: key)
                #expect(answer.matches.isEmpty)
                #expect(answer.erased.map(\.receipt) == [1], "\(text)")
            }
            let without = try await DirectoryPeople.find(DirectoryPeople.anna.uuidString, in: database)
            #expect(without.doubt == .noHashKey)
            let never = try await DirectoryPeople.find(UUID().uuidString, in: database, hashKey: key)
            #expect(never.erased.isEmpty && never.doubt == nil)
            // A search by request id needs no hash key.
            let request = try await DirectoryPeople.find(UUID().uuidString, by: .request, in: database)
            #expect(request.isAbsent && request.doubt == nil)
        }
    }

    @Test("Accounts are found even without our schema and without profiles")
    func platformOnly() async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.psql(DirectoryPeople.sql)
            #expect(
                try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.map(\.id) == [
                    DirectoryPeople.anna
                ]
            )
            #expect(try await DirectoryPeople.find("anna", in: database).matches.isEmpty)
            // Without our schema there is no record of erased accounts.
            let hashKey = try HashKey(.named("hash"))
            for (text, isUnknown) in [(UUID().uuidString, true), ("42", true), ("nobody@example.com", false)] {
                let none = try await DirectoryPeople.find(text, in: database, hashKey: hashKey)
                #expect(none.doubt == (isUnknown ? .notInstalled : nil) && !none.isInstalled, "\(text)")
            }
            let match = try #require(try await DirectoryPeople.find(DirectoryPeople.sub, in: database).matches.first)
            let report = try await database.withConnection { connection in
                try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
            }
            #expect(report?.relay?.address == "abc123@privaterelay.appleid.com")
            #expect(report?.relay?.knownBy == .claim)
            #expect(report?.profile == nil)
        }
    }
}
