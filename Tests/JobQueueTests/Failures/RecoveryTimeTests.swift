import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// How long a job waits whose process was killed.
@Suite(.timeLimit(.minutes(5))) struct RecoveryTimeTests {
    struct Arguments: Codable, Sendable {
        var milliseconds = 60_000
    }

    /// Workers look for lost ones every quarter of a lease; the rest of the limit allows for a busy machine.
    @Test func anotherWorkerTakesItOnceTheLeaseIsOver() async throws {
        try await JobHarness.with { harness in
            let job = try JobKind<Arguments>("test.steps").job(Arguments())
            let id = try await harness.enqueue([job])[0].id
            let killed = try WorkerProcess(harness, lease: 8_000)
            try await harness.until { try await harness.effects() == 1 }
            let other = try WorkerProcess(harness, lease: 8_000)
            try await harness.until { try await harness.count("select count(*) from accountctl.workers") == 2 }
            killed.kill(SIGKILL)
            _ = try await killed.ended()
            try await harness.until { try await harness.effects() == 2 }
            let waited = try await harness.pool.withConnection { connection in
                try connection.one(
                    """
                    select extract(epoch from job.claimed_at - dead.expires_at)::double precision
                    from accountctl.jobs as job,
                        accountctl.workers as dead
                    where job.id = \(id)
                    and dead.name = \("test-\(killed.pid)")
                    """,
                    as: Double.self
                )
            }
            // Never before the lease ends: until then the process might have been alive and about to write.
            #expect(waited >= 0)
            #expect(waited < 8)
            other.kill(SIGKILL)
        }
    }
}
