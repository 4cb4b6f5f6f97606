import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The upkeep that a running worker does beside its jobs.
@Suite(.timeLimit(.minutes(5))) struct UpkeepTests {
    private static let kind = JobKind<Note>("test.plain")

    /// The worker vacuums the table by itself, since autovacuum may be busy with larger tables.
    @Test func aWorkerVacuumsItsTable() async throws {
        try await JobHarness.with { harness in
            try await harness.execute("alter table accountctl.jobs set (autovacuum_enabled = false)")
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            try await harness.enqueue(try (0..<3000).map { _ in try Self.kind.job(Note()) })
            try await harness.withWorker(registry, { $0.vacuumInterval = .seconds(1) }) {
                try await harness.until { try await harness.unfinished() == 0 }
                // A session's deletes may be counted after a vacuum: the next vacuum corrects the count.
                let cleaned: Statement = """
                    select count(*)
                    from pg_stat_user_tables
                    where relid = 'accountctl.jobs'::regclass
                    and vacuum_count > 0
                    and n_tup_del >= 3000
                    and n_dead_tup = 0
                    """
                try await harness.until { try await harness.count(cleaned) == 1 }
            }
        }
    }

    /// A worker makes the coming days of the history and drops those whose retention is over while it runs, not only
    /// before it ends when idle.
    @Test func aWorkerKeepsTheHistory() async throws {
        try await JobHarness.with { harness in
            // The migration has made some days ahead.
            try await harness.execute("select accountctl.prune_job_history(now() + interval '30 days', 30)")
            try await harness.execute("select accountctl.prepare_job_history('2020-01-01', 1)")
            let days: Statement = "select count(*) from pg_class where relname ~ '^job_history_[0-9]{8}$'"
            #expect(try await harness.count(days) == 1)
            let past: Statement = "\(days) and relname = 'job_history_20200101'"
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            try await harness.withWorker(registry) {
                try await harness.until {
                    let made = try await harness.count(days)
                    return try await harness.count(past) == 0 && made >= 7
                }
            }
        }
    }

    /// The queue is paused, so that nothing else moves its jobs.
    @Test func aWorkerMovesOldJobsUp() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            try await harness.enqueue([Self.kind.job(Note(), priority: 3), Self.kind.job(Note(), priority: 0)])
            try await harness.withWorker(registry, { $0.ageing = .seconds(1) }) {
                try await harness.until {
                    try await harness.count("select max(priority)::int from accountctl.jobs") == 1
                }
            }
        }
    }
}
