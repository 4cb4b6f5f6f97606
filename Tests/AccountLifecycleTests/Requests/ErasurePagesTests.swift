import Foundation
import Postgres
import Sealing
import TestSupport
import Testing

@testable import AccountLifecycle

/// The list of erasures and its replay are read in pages: an account left out would live on after a restore.
@Suite(.timeLimit(.minutes(5))) struct ErasurePagesTests {
    /// One more than a page holds.
    @Test func allRequestsAreListedAndAllAccountsLookedAt() async throws {
        try await TestDatabase.with(.migrated) { database in
            let count = 5001
            try await database.psql(
                """
                set session_replication_role = replica;
                insert into auth.users (id, created_at)
                select md5('u' || n)::uuid, now() - interval '1 year' from generate_series(1, \(count)) as n;
                insert into accountctl.deletion_requests (user_id, origin, run_after, legal_deadline)
                select id, 'app', now(), now() + interval '1 month' from auth.users
                """
            )
            let key = try HashKey(.named("hash1"))
            let (listed, replay) = try await database.withConnection { connection in
                var list = ErasureList()
                try ListedErasure.forEach(since: nil, key: key, on: connection) { list.add($0, at: .distantPast) }
                return (list.count, try ErasureReplay.plan(list, key: key, on: connection))
            }
            #expect(listed == count)
            #expect(replay.accounts == count && replay.open == count)
        }
    }
}
