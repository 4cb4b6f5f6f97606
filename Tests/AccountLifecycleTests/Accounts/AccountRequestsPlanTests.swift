import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Reading deletion requests does not scan the whole table, however many requests are stored.
@Suite(.timeLimit(.minutes(5))) struct AccountRequestsPlanTests {
    /// The number of sequential scans of the requests in this transaction.
    private static let scans: Statement = """
        select seq_scan
        from pg_stat_xact_all_tables
        where relid = 'accountctl.deletion_requests'::regclass
        """

    @Test(arguments: ["cancel_account_deletion", "account_deletion_status"])
    func nobodyReadsTheRequestsOfOthers(_ function: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.request(person)
            try await stage.sql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, finished_at, run_after, legal_deadline)
                select
                    gen_random_uuid(), 'app', case when g % 2 = 0 then 'cancelled' else 'grace' end,
                    case when g % 2 = 0 then now() end, now(), now() + interval '1 month'
                from generate_series(1, 20000) as g
                """
            )
            try await stage.sql("analyze accountctl.deletion_requests")
            let scans = try await stage.signedIn(person) { connection in
                _ = try connection.one("select public.\(unsafeSQL: function)()", as: String.self)
                try connection.execute("reset role")
                return try connection.one(Self.scans, as: Int64.self)
            }
            #expect(scans == 0)
        }
    }

    /// Adds many requests that were carried out a year ago.
    private func addErased(to stage: Stage) async throws {
        try await stage.sql(
            """
            insert into accountctl.deletion_requests (
                subject_hash, subject_key_id, origin, state, requested_at, locked_out_at, finished_at, run_after,
                legal_deadline
            )
            select
                sha256(g::text::bytea), 'hash1', 'app', 'verified', now() - interval '1 year',
                now() - interval '1 year', now() - interval '11 months', now() - interval '1 year',
                now() - interval '11 months'
            from generate_series(1, 20000) as g
            """
        )
        try await stage.sql("analyze accountctl.deletion_requests")
    }

    /// Listing open requests does not scan all of them, and listing all reads steps only for those shown.
    @Test func theListReadsNoMoreThanItShows() async throws {
        try await Stage.with { stage in
            try await addErased(to: stage)
            let (open, steps) = try await stage.pool.withTransaction { connection in
                _ = try DeletionSummary.list([.grace, .running], limit: 5, on: connection)
                let open = try connection.one(Self.scans, as: Int64.self)
                let shown = try DeletionSummary.list(Set(DeletionState.allCases), limit: 5, on: connection)
                #expect(shown.count == 5)
                let steps = try connection.one(
                    """
                    select seq_scan + idx_scan
                    from pg_stat_xact_all_tables
                    where relid = 'accountctl.deletion_steps'::regclass
                    """,
                    as: Int64.self
                )
                return (open, steps)
            }
            #expect(open == 0)
            // For each of the five: the step that was begun last, and the outcomes of its two searches.
            #expect(steps <= 15)
        }
    }

    /// Of very many requests that ended, a limit leaves those that somebody may ask about.
    @Test func afterTheOpenRequestsComesWhatEndedLast() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, requested_at, finished_at, run_after, legal_deadline
                )
                select
                    gen_random_uuid(), 'app', case when days is null then 'grace' else 'cancelled' end,
                    now() - interval '9 days', now() - make_interval(days => days), now(),
                    now() + make_interval(days => deadline)
                from (values (3, 1), (1, 2), (2, 3), (null, 9), (null, 8)) as r (days, deadline)
                """
            )
            let shown = try await stage.pool.withConnection { connection in
                try DeletionSummary.list(Set(DeletionState.allCases), limit: 4, on: connection)
            }
            let deadlines = shown.map { Int(($0.legalDeadline.timeIntervalSinceNow / 86_400).rounded()) }
            #expect(deadlines == [8, 9, 2, 3])
        }
    }

    /// Pruning runs every minute and does not scan verified requests, which are kept for good.
    @Test func pruningReadsNoRequestThatIsKept() async throws {
        try await Stage.with { stage in
            try await addErased(to: stage)
            let scans = try await stage.pool.withTransaction { connection in
                try DeletionPruning.run(on: connection)
                return try connection.one(Self.scans, as: Int64.self)
            }
            #expect(scans == 0)
        }
    }

    /// Every preflight checks the ceiling, so it must be cheap even if a hundred thousand requests wait.
    @Test func theCeilingReadsTheLastHourAlone() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, requested_at, finished_at, counted_at, run_after, legal_deadline
                )
                select
                    gen_random_uuid(), 'app', 'cancelled', now() - interval '3 days', now() - interval '1 day',
                    now() - interval '2 days', now() - interval '3 days', now() + interval '1 month'
                from generate_series(1, 20000)
                """
            )
            try await stage.sql("analyze accountctl.deletion_requests")
            let scans = try await stage.pool.withTransaction { connection in
                #expect(try HourlyCeiling(configured: 50).lastStop(on: connection) == nil)
                return try connection.one(Self.scans, as: Int64.self)
            }
            #expect(scans == 0)
        }
    }
}
