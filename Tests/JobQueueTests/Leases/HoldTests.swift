import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Holding a job to work on it by hand, instead of in a worker.
@Suite(.timeLimit(.minutes(5))) struct HoldTests {
    private static let kind = JobKind<Note>("test.held")
    private static let key = "held"

    private func hold(
        _ harness: JobHarness,
        lifetime: Duration = .seconds(2),
        longest: Duration = .seconds(600)
    ) async throws -> JobHold {
        let holder = JobHold.Holder(name: "by hand", version: "1", lifetime: lifetime, longest: longest)
        let holding = try await harness.pool.withTransaction {
            try harness.queue.hold(Self.key, as: holder, on: $0)
        }
        guard case .held(let hold) = holding else { throw TestSupportError("not held: \(holding)") }
        return hold
    }

    @Test func isNotToBeHadWhileItIsPausedParkedOrRun() async throws {
        try await JobHarness.with { harness in
            let holder = JobHold.Holder(name: "by hand", version: "1", lifetime: .seconds(9), longest: .seconds(9))
            @Sendable func told() async throws -> String {
                let holding = try await harness.pool.withTransaction {
                    try harness.queue.hold(Self.key, as: holder, on: $0)
                }
                return switch holding {
                case .held: "held"
                case .paused(let queue): "paused for \(queue.pauseReason ?? "-")"
                case .running(let name): "run by \(name ?? "-")"
                case .parked(_, let reason): "parked for \(reason ?? "-")"
                case .cancelled(let job): "to cancel \(job)"
                case .absent: "absent"
                }
            }
            #expect(try await told() == "absent")
            let job = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])[0].id
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.pause(queue: Self.kind.queue, reason: "repairs", on: connection)
            }
            #expect(try await told() == "paused for repairs")
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.resume(queue: Self.kind.queue, on: connection)
            }
            try await harness.execute(
                "update accountctl.jobs set state = 'parked', parked_for = 'newer' where id = \(job)"
            )
            #expect(try await told() == "parked for newer")
            try await harness.execute(
                """
                update accountctl.jobs
                set state = 'available', parked_for = null, cancel_requested_at = now()
                where id = \(job)
                """
            )
            // A worker that died may leave a job in this state.
            #expect(try await told() == "to cancel \(job)")
            try await harness.execute("update accountctl.jobs set cancel_requested_at = null where id = \(job)")
            #expect(try await told() == "held")
            // A worker that writes under its lease has the row locked: an attempt to hold the job does not wait for
            // that.
            try await harness.pool.withTransaction { connection in
                _ = try connection.one("select id from accountctl.jobs for share", as: Int64.self)
                #expect(try await told() == "run by by hand")
            }
        }
    }

    @Test func isKeptPastItsLeaseAndThenHandedBack() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])
            // The worker rescues the job if no heartbeat comes for this long.
            let hold = try await hold(harness, lifetime: .seconds(6))
            let listener = JobListener(harness.database.configuration, logger: harness.logger)
            // Without polls: the worker is told of the job that is handed back.
            let registry = try harness.recording(Self.kind)
            try await harness.withWorker(registry, listener: listener, { $0.pollInterval = .seconds(3600) }) {
                try await hold.keep(pool: harness.pool, logger: harness.logger) {
                    try await harness.database.waitUntilListening("accountctl_jobs")
                    try await harness.until {
                        let past = try await harness.count(
                            """
                            select count(*)
                            from accountctl.workers
                            where name = 'by hand' and beat_at > started_at + interval '6 s'
                            """
                        )
                        return past == 1
                    }
                    #expect(try await harness.effects() == 0)
                }
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// A job that becomes available gets a ready time of now, since claims begin behind what they have seen.
    @Test func aScheduledJobGoesBackAsOneOfThePresent() async throws {
        try await JobHarness.with { harness in
            let later = Date(timeIntervalSinceNow: 3600)
            try await harness.enqueue([Self.kind.job(Note(), runAt: later, uniqueKey: Self.key)])
            try await hold(harness).keep(pool: harness.pool, logger: harness.logger) {}
            let ready: Statement =
                "select count(*) from accountctl.jobs where state = 'available' and run_at <= clock_timestamp()"
            #expect(try await harness.count(ready) == 1)
        }
    }

    /// Failed heartbeats, and their end, are logged in words that differ from those of a worker in the same process.
    @Test func aHeartbeatThatFailsIsToldAndThatTheyGoThroughAgain() async throws {
        try await JobHarness.with { harness in
            let job = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])[0].id
            let hold = try await hold(harness)
            let lines = LogLines()
            let failure = "warning a heartbeat of a job held by hand failed "
            let over = "info heartbeats of a job held by hand succeed again failed="
            try await hold.keep(pool: harness.pool, logger: lines.logger) {
                try await harness.pool.withTransaction { other in
                    _ = try other.one("select id from accountctl.workers for update", as: Int64.self)
                    try await harness.until { lines.all.contains { $0.hasPrefix(failure) } }
                }
                try await harness.until { lines.all.contains { $0.hasPrefix(over) && $0.hasSuffix(" job=\(job)") } }
            }
        }
    }

    @Test func onceItIsTakenAwayTheWorkStops() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])
            let hold = try await hold(harness)
            let error = await #expect(throws: JobQueueError.self) {
                try await hold.keep(pool: harness.pool, logger: harness.logger) {
                    try await harness.pool.withConnection { connection in
                        let worker = try connection.one("select worker from accountctl.jobs", as: Int64.self)
                        try harness.queue.deregister(worker: worker, on: connection)
                    }
                    try await harness.until { false }
                }
            }
            #expect(error?.code == .leaseLost)
            await #expect(throws: JobQueueError.self) {
                try await harness.pool.withTransaction { try hold.fence.hold(on: $0) }
            }
        }
    }

    @Test func onceItIsCancelledTheWorkStopsAndTheJobEndsSo() async throws {
        try await JobHarness.with { harness in
            let job = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])[0].id
            let hold = try await hold(harness)
            let error = await #expect(throws: JobQueueError.self) {
                try await hold.keep(pool: harness.pool, logger: harness.logger) {
                    let result = try await harness.pool.withConnection { connection in
                        try harness.queue.cancel(job, reason: "test", on: connection)
                    }
                    #expect(result == .requested)
                    try await harness.until { false }
                }
            }
            #expect(error?.code == .cancelled)
            #expect(try await harness.show(job)?.record.state == .available)
            try await harness.worker(harness.recording(Self.kind)).runUntilIdle()
            #expect(try await harness.finished("cancelled") == 1)
            #expect(try await harness.effects() == 0)
        }
    }

    /// The longest time holds however well the lease is kept.
    @Test func isHandedBackOnceItsLongestTimeIsOver() async throws {
        try await JobHarness.with { harness in
            let job = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])[0].id
            let hold = try await hold(harness, longest: .seconds(1))
            let error = await #expect(throws: JobQueueError.self) {
                try await hold.keep(pool: harness.pool, logger: harness.logger) {
                    try await harness.until { false }
                }
            }
            #expect(error?.code == .leaseLost)
            #expect(try await harness.show(job)?.record.state == .available)
        }
    }

    /// A call that would outlast the longest time is not begun.
    @Test func endsWithItsLongestTime() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note(), uniqueKey: Self.key)])
            let hold = try await hold(harness, lifetime: .seconds(600), longest: .seconds(60))
            try hold.requireLease(outlasting: .seconds(20))
            let error = #expect(throws: JobQueueError.self) { try hold.requireLease(outlasting: .seconds(61)) }
            #expect(error?.code == .leaseTooShort)
        }
    }
}
