import Postgres
import Testing

@testable import JobQueue

/// The cost of listing jobs that have ended.
@Suite(.timeLimit(.minutes(5))) struct HistoryPlanTests {
    /// Each day may have hundreds of thousands of ended jobs.
    @Test func listsTheNewestWithoutReadingOlderDays() async throws {
        try await JobHarness.with { harness in
            // The day is read once, since midnight may pass at any line.
            let today = try await harness.pool.withConnection {
                try $0.one("select (now() at time zone 'UTC')::date::text", as: String.self)
            }
            try await harness.execute("select accountctl.prepare_job_history(\(today)::date - 5, 8)")
            try await harness.execute(
                """
                insert into accountctl.job_history
                    (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args,
                    finished_at)
                select n, n, now(), now(), 'completed'::accountctl.job_end, 5, 1, 0, 1, 'q', 'k', '{}'::jsonb, at
                from (
                    values (1, now() - interval '1 hour'), (2, now() - interval '2 hours'),
                        (3, (\(today)::date - 3 + time '12:00') at time zone 'UTC')
                ) as ended (n, at)
                """
            )
            func list(_ limit: Int) async throws -> (ids: [Int64], scans: Int64) {
                var filter = JobFilter()
                filter.states = [.completed]
                filter.limit = limit
                let scans: Statement = """
                    select (seq_scan + idx_scan)::bigint
                    from pg_stat_xact_all_tables
                    where relid = ('accountctl.job_history_' || to_char(\(today)::date - 3, 'YYYYMMDD'))::regclass
                    """
                return try await harness.pool.withTransaction { [filter] connection in
                    // The server's counters may also include what the session did just before.
                    let before = try connection.one(scans, as: Int64.self)
                    let jobs = try harness.queue.list(filter, on: connection)
                    let after = try connection.one(scans, as: Int64.self)
                    return (jobs.map(\.id), after - before)
                }
            }
            let newest = try await list(2)
            #expect(newest.ids == [1, 2] && newest.scans == 0, "\(newest)")
            let all = try await list(3)
            #expect(all.ids == [1, 2, 3] && all.scans > 0, "\(all)")
        }
    }
}
