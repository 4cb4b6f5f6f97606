import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that are enqueued without returning their ids get into the table like all others.
@Suite(.timeLimit(.minutes(5))) struct EnqueueAndForgetTests {
    static let kind = JobKind<Note>("test.plain")

    private static func jobs() throws -> [NewJob] {
        let later = Date(timeIntervalSince1970: 4_000_000_000)
        return [
            try kind.job(Note(text: "plain")),
            try kind.job(Note(text: "plain, too"), priority: 2),
            try kind.job(Note(text: "ä\"\\"), runAt: later, priority: 7, uniqueKey: "u", maxAttempts: 7),
            try NewJob(kind: "other", queue: "apple", argumentsVersion: 3, priority: 9, limitKey: "l"),
            try kind.job(Note(text: "keyed"), uniqueKey: "a"),
        ]
    }

    /// The columns that callers decide, in the order in which the jobs came.
    private static func rows(_ harness: JobHarness) async throws -> [String] {
        try await harness.pool.withConnection { connection in
            try connection.query(
                """
                select row(
                    kind, queue, args, args_version, priority, state, unique_key, limit_key, max_attempts,
                    case when run_at > created_at + interval '1 minute' then run_at end
                )::text
                from accountctl.jobs
                order by unique_key nulls first, id
                """,
                as: String.self
            )
        }
    }

    @Test(arguments: [false, true]) func theyAreWhatTheOthersAre(together: Bool) async throws {
        try await JobHarness.with { harness in
            let jobs = try Self.jobs()
            let batches = together ? [jobs] : jobs.map { [$0] }
            try await harness.pool.withConnection { connection in
                for batch in batches { try harness.queue.enqueue(batch, on: connection) }
            }
            let others = try await Self.rows(harness)
            #expect(others.count == jobs.count)
            try await harness.execute("truncate accountctl.jobs")
            try await harness.pool.withConnection { connection in
                for batch in batches { try harness.queue.enqueueAndForget(batch, on: connection) }
            }
            #expect(try await Self.rows(harness) == others)
        }
    }

    /// The first job of a unique key wins, within a call and between two calls.
    @Test func oneLiveJobHoldsAKey() async throws {
        try await JobHarness.with { harness in
            func add(_ keys: [String], _ text: String) async throws {
                let jobs = try keys.enumerated().map { try Self.kind.job(Note(text: "\(text)\($0)"), uniqueKey: $1) }
                try await harness.pool.withConnection { connection in
                    try harness.queue.enqueueAndForget(jobs, on: connection)
                }
            }
            try await add(["b", "a", "b", "c", "a"], "first")
            try await add(["c", "d"], "second")
            try await add(["d"], "third")
            let held = try await harness.pool.withConnection { connection in
                try connection.query(
                    "select unique_key || ' ' || (args ->> 'text') from accountctl.jobs order by unique_key",
                    as: String.self
                )
            }
            #expect(held == ["a first1", "b first0", "c first3", "d second1"])
        }
    }

    @Test func nothingToAddIsNoStatement() async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                try harness.queue.enqueueAndForget([], on: connection)
            }
            #expect(try await harness.unfinished() == 0)
        }
    }
}
