import AccountLifecycle
import Foundation
import ObjectStorage
import Postgres
import TestSupport
import Testing

@Suite("The reading cost of a sweep of avatars", .timeLimit(.minutes(5)))
struct AvatarSweepReadingTests {
    /// Creates accounts with two avatars each, which share a file name and of which the profile names one.
    private static func filling(_ accounts: Int) -> String {
        """
        set session_replication_role = replica;
        insert into auth.users (id) select md5('u' || n)::uuid from generate_series(1, \(accounts)) as n;
        insert into public.profiles (id, avatar_url)
        select id, 'https://x.test/storage/v1/object/public/avatars/' || id || '/new/avatar.png' from auth.users;
        insert into storage.objects (bucket_id, name, owner, created_at, updated_at, metadata)
        select 'avatars', id || '/' || age || '/avatar.png', id, now() - interval '60 days', now() - interval '60 days',
            '{"size": 10}'
        from auth.users, unnest(array['old', 'new']) as age;
        insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline)
        select gen_random_uuid(), 'app', 'grace', now(), now() + interval '1 month' from generate_series(1, 5000);
        insert into accountctl.holds (user_id, reason, placed_by)
        select gen_random_uuid(), 'court', 'olga' from generate_series(1, 5000)
        """
    }

    private static let tables = "storage.objects, public.profiles, accountctl.deletion_requests, accountctl.holds"

    @Test("A page of objects is read in index order, without a sequential scan")
    func plan() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.filling(10_000))
            try await database.psql("vacuum analyze \(Self.tables)")
            let page = AvatarSweep(before: Date()).page(after: "8")
            let plan = try await database.withConnection { connection in
                try connection.query("explain (analyze, costs off, timing off) " + page, as: String.self)
            }
            let text = plan.joined(separator: "\n")
            #expect(text.contains("idx_objects_bucket_id_name"), "\(text)")
            #expect(!text.contains("Seq Scan") && !text.contains("hashed SubPlan"), "\(text)")
            #expect(text.contains("Limit (actual rows=500 "), "\(text)")
        }
    }

    /// The next page begins after that key, so a version left out here, perhaps the current one, would be skipped.
    @Test("A page holds all versions of its last key")
    func versions() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into storage.objects (bucket_id, name, version, archived_at, is_versioned)
                select 'avatars', 'me.png', n, now(), true from generate_series(1, 501) as n
                """
            )
            let rows = try await database.withConnection { connection in
                let page = AvatarSweep(before: Date()).page(after: nil)
                return try connection.one("select count(*) from (\(page)) as page", as: Int.self)
            }
            #expect(rows == 501)
        }
    }

    /// The number of rows read by a survey of all objects, followed by reading them in batches as a deleting sweep
    /// does.
    private func rowsRead(_ accounts: Int) async throws -> Int {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.filling(accounts))
            try await database.psql("vacuum analyze \(Self.tables)")
            let names = Self.tables.split(separator: ",").map { "'\($0.drop { $0 == " " })'::regclass" }
            let read = """
                select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))
                from pg_stat_all_tables
                where relid in (\(names.joined(separator: ", ")))
                """
            let before = Int(try await database.psql(read)) ?? 0
            try await database.withConnection { connection in
                // The planner scans small tables sequentially, which would distort how the cost grows.
                try connection.execute("set enable_seqscan = off")
                let sweep = AvatarSweep(before: Date())
                let names = try sweep.names(on: connection)
                let survey = try sweep.survey(examples: 3, except: names, on: connection)
                #expect(
                    survey.objects == accounts && survey.accounts == accounts && survey.bytes == Int64(10 * accounts)
                )
                #expect(survey.examples.count == 3)
                var found = 0
                var cursor: String?
                while true {
                    let batch = try sweep.next(
                        after: cursor,
                        limit: StorageClient.largestBatch,
                        except: names,
                        on: connection
                    )
                    if batch.leftovers.isEmpty { break }
                    #expect(batch.leftovers.allSatisfy { $0.key.hasSuffix("/old/avatar.png") })
                    found += batch.leftovers.count
                    cursor = batch.cursor
                }
                #expect(found == accounts)
                try connection.execute("select pg_stat_force_next_flush()")
            }
            return (Int(try await database.psql(read)) ?? 0) - before
        }
    }

    @Test("The rows read grow linearly with the number of avatars")
    func growth() async throws {
        let (few, many) = (try await rowsRead(500), try await rowsRead(2000))
        #expect(few > 1000 && many < few * 5, "\(few) rows for 500 avatars, \(many) for 2,000")
    }

    @Test("An object that a profile names by the time of its deletion is kept")
    func renamed() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.filling(3))
            try await database.withConnection { connection in
                let sweep = AvatarSweep(before: Date())
                let names = try sweep.names(on: connection)
                let first = try sweep.next(after: nil, limit: 1, except: names, on: connection)
                #expect(first.leftovers.map(\.key) == [first.cursor])
                try connection.execute(
                    "update public.profiles set avatar_url = \(first.cursor) where id = \(UUID(uuidString: first.leftovers[0].account))"
                )
                let all = try sweep.next(after: nil, limit: 500, except: names, on: connection)
                #expect(all.leftovers.count == 2 && !all.leftovers.contains { $0.key == first.cursor })
                #expect(try sweep.next(after: all.cursor, limit: 500, except: names, on: connection).leftovers.isEmpty)
            }
        }
    }

    @Test("A long text is read only as far as it can name an object, and the object that it names is kept")
    func longTexts() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(Self.filling(4))
            // A key after a million bytes, a key before a million bytes, and a million bytes without a key.
            try await database.psql(
                """
                update public.profiles as p
                set avatar_url = case n
                        when 1 then repeat('/', 1000000) || id || '/old/avatar.png'
                        when 2 then 'https://x.test/avatars/' || id || '/old/avatar.png?t=' || repeat('t', 1000000)
                        when 3 then repeat('/', 1000000)
                    end
                from generate_series(1, 4) as n
                where id = md5('u' || n)::uuid
                """
            )
            try await database.withConnection { connection in
                let sweep = AvatarSweep(before: Date())
                for names in [try sweep.names(on: connection), AvatarNames([])] {
                    let left = try sweep.next(after: nil, limit: 500, except: names, on: connection).leftovers
                    #expect(left.count == 6 && left.filter { $0.key.hasSuffix("/old/avatar.png") }.count == 2)
                }
            }
        }
    }
}
