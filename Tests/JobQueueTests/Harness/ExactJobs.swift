import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Jobs whose effect and end are one transaction: however many attempts they take, each effect exists exactly once.
enum ExactJobs {
    static let kind = JobKind<Note>(
        "test.exact",
        retry: .exponential(attempts: 1000, base: .milliseconds(20), cap: .milliseconds(200)),
        // A worker that is cut off, or misses its heartbeat on a busy machine, counts as crashed.
        crashLimit: 1000
    )

    static func registry(_ pause: Duration = .milliseconds(5)) throws -> JobRegistry {
        try JobRegistry(kind) { _, context in
            try await Task.sleep(for: pause)
            return try await end(context)
        }
    }

    /// Writes the effect and the job's end in one transaction.
    static func end(_ context: JobContext) async throws -> JobOutcome {
        try await context.pool.withTransaction { connection in
            try context.fence(on: connection)
            try connection.execute("insert into public.effects (job, note) values (\(context.id), 'exact')")
            try context.complete(on: connection)
        }
        return .completedInTransaction
    }

    static func make(_ count: Int) throws -> [NewJob] {
        try (0..<count).map { _ in try kind.job(Note()) }
    }

    static func enqueue(_ count: Int, in harness: JobHarness) async throws {
        try await harness.enqueue(try make(count))
    }

    /// Configures leases so short that a lost worker's jobs come back soon.
    static func shortLeases(_ configuration: inout WorkerConfiguration) {
        configuration.slots = 8
        configuration.leaseLifetime = .seconds(2)
    }

    /// Counts unfinished jobs with psql, which does not depend on the pool under test; nil while the server is down.
    static func left(_ database: TestDatabase, in cluster: TestCluster? = nil) async throws -> Int? {
        let count = try? await (cluster ?? database.cluster)
            .psql(database: database.name, "select count(*) from accountctl.jobs")
        return Int(count ?? "")
    }

    static func expect(_ count: Int, _ database: TestDatabase, in cluster: TestCluster? = nil) async throws {
        let found = try await (cluster ?? database.cluster).psql(
            database: database.name,
            """
            select
                (select count(*) from public.effects),
                (select count(distinct job) from public.effects),
                (select count(*) from accountctl.job_history where outcome = 'completed'),
                (select count(distinct id) from accountctl.job_history)
            """
        )
        #expect(found == "\(count)|\(count)|\(count)|\(count)")
    }
}
