import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Real processes that are killed, stopped, trapped and shut down; the table of effects shows what they did.
@Suite(.timeLimit(.minutes(5))) struct ProcessFailureTests {
    struct Arguments: Codable, Sendable {
        var milliseconds = 0
    }

    private func jobs(_ kind: String, _ count: Int, milliseconds: Int = 0) throws -> [NewJob] {
        let kind = JobKind<Arguments>(kind)
        return try (0..<count).map { _ in try kind.job(Arguments(milliseconds: milliseconds)) }
    }

    /// Workers are killed again and again: before, during and after effects, and in the middle of batches.
    @Test func killedWorkersLoseNothing() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(
                try jobs("test.exact", 150, milliseconds: 60) + jobs("test.steps", 50, milliseconds: 60)
            )
            // Four slots each: the work outlasts the kills on the fastest machine.
            var workers = [try WorkerProcess(harness, slots: 4), try WorkerProcess(harness, slots: 4)]
            for done in [10, 50, 90, 130] {
                try await harness.until(every: .milliseconds(5)) { try await harness.finished("completed") >= done }
                // Kills at a random moment.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...50)))
                workers.removeFirst().kill(SIGKILL)
                workers.append(try WorkerProcess(harness, slots: 4))
            }
            try await harness.until { try await harness.unfinished() == 0 }
            // Whatever was killed at which moment: each transaction happened once, each effect at least once, each job
            // ended once.
            #expect(try await harness.finished("completed") == 200)
            #expect(try await harness.count("select count(distinct id) from accountctl.job_history") == 200)
            #expect(try await harness.count("select count(*) from public.effects where note = 'exact'") == 150)
            #expect(
                try await harness.count("select count(distinct job) from public.effects where note = 'end'") == 50
            )
            // The kills hit running jobs, whose attempts were given back.
            #expect(try await harness.count("select sum(crashes)::int from accountctl.job_history") > 0)
            #expect(try await harness.count("select max(attempt)::int from accountctl.job_history") == 1)
        }
    }

    @Test func aPoisonousJobIsFoundAndItsSiblingsSurvive() async throws {
        try await JobHarness.with { harness in
            let poison = try await harness.enqueue(try jobs("test.trap", 1))[0].id
            try await harness.enqueue(try jobs("test.exact", 20, milliseconds: 20))
            var crashes = 0
            while try await harness.unfinished() > 0 {
                let worker = try WorkerProcess(harness, slots: 8)
                while worker.isRunning, try await harness.unfinished() > 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                if !worker.isRunning { crashes += 1 }
                worker.kill(SIGKILL)
            }
            let record = try #require(try await harness.show(poison)?.record)
            #expect(record.state == .discarded)
            #expect(record.crashes == 3)
            #expect(record.reason?.contains("died 3 times") == true)
            #expect(crashes == 3)
            #expect(try await harness.finished("completed") == 20)
            #expect(try await harness.count("select count(*) from public.effects where note = 'exact'") == 20)
            #expect(try await harness.count("select count(*) from public.effects where note = 'trap'") == 3)
        }
    }

    /// A process is stopped for longer than its lease and then continued: its late writes must not land.
    @Test func aStoppedProcessComesBackTooLate() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue(try jobs("test.deaf", 1, milliseconds: 5000))[0].id
            // The lease is long enough to stop the process while it holds the job and has not ended it.
            let stopped = try WorkerProcess(harness, lease: 4000)
            try await harness.until { try await harness.effects() == 1 }
            stopped.kill(SIGSTOP)
            // The lease of this one is longer, so that a late heartbeat on a busy machine is no second crash.
            let other = try WorkerProcess(harness, lease: 8000)
            try await harness.until {
                try await harness.count("select count(*) from public.effects where note = 'begin'") == 2
            }
            stopped.kill(SIGCONT)
            try await harness.until { try await harness.unfinished() == 0 }
            // Waits for the first process, which registers anew and then ends in order.
            stopped.kill(SIGTERM)
            #expect(try await stopped.ended() == 0)
            #expect(try await harness.count("select count(*) from public.effects where note = 'late'") == 1)
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.show(id)?.record.crashes == 1)
            other.kill(SIGKILL)
        }
    }

    /// A process is stopped for good while its statement, in the midst of outcomes and claims, waits for a lock: the
    /// server carries out that statement, and the process never sends the next.
    @Test(arguments: ["accountctl.job_limits", "accountctl.queues"])
    func aStoppedProcessKeepsNobodyFromWorking(_ table: String) async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.pool.withConnection { connection in
                // Claims of this kind lock rows of both tables.
                try queue.limit(kind: "test.exact", running: 1, runningPerKey: nil, on: connection)
                try queue.limitRate(queue: "default", to: (1000, .seconds(1)), on: connection)
            }
            try await harness.enqueue(try jobs("test.exact", 3))
            let stopped = try await harness.pool.withTransaction { connection in
                try connection.execute("lock table \(unsafeSQL: table) in share row exclusive mode")
                let process = try WorkerProcess(harness)
                try await harness.database.waitUntilBlocked(sessions: 1)
                process.kill(SIGSTOP)
                return process
            }
            let other = try WorkerProcess(harness)
            try await harness.until { try await harness.unfinished() == 0 }
            #expect(try await harness.count("select count(*) from public.effects where note = 'exact'") == 3)
            for process in [stopped, other] { process.kill(SIGKILL) }
        }
    }

    @Test func shutdownUsesNoAttempt() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try jobs("test.steps", 4, milliseconds: 400))
            let long = try await harness.enqueue(try jobs("test.steps", 4, milliseconds: 600_000))
            let worker = try WorkerProcess(harness, lease: 60_000, slots: 8, grace: 600_000)
            // The short jobs may have ended by the time the last long one begins.
            let begun: Statement = "select count(*) from public.effects where note = 'begin'"
            try await harness.until { try await harness.count(begun) == 8 }
            worker.kill(SIGTERM)
            // The short jobs end, and the worker waits for the long ones until the second signal.
            try await harness.until { try await harness.finished("completed") == 4 }
            #expect(worker.isRunning)
            worker.kill(SIGINT)
            _ = try await worker.ended()
            for job in long {
                let record = try #require(try await harness.show(job.id)?.record)
                #expect(record.state == .available)
                #expect(record.attempt == 0)
                #expect(record.crashes == 0)
                #expect(record.lastError == nil)
            }
            let left = try await harness.count("select count(*) from accountctl.workers where stop_reason = 'shutdown'")
            #expect(left == 1)
        }
    }

    /// One signal is enough: jobs that do not end within the grace are handed back, and the worker exits with 0.
    @Test func theGraceEndsAndUsesNoAttempt() async throws {
        try await JobHarness.with { harness in
            let long = try await harness.enqueue(try jobs("test.steps", 4, milliseconds: 600_000))
            let worker = try WorkerProcess(harness, lease: 60_000, slots: 8, grace: 300)
            try await harness.until { try await harness.effects() == 4 }
            worker.kill(SIGTERM)
            #expect(try await worker.ended(within: .seconds(60)) == 0)
            for job in long {
                let record = try #require(try await harness.show(job.id)?.record)
                #expect(record.state == .available)
                #expect(record.attempt == 0)
                #expect(record.crashes == 0)
            }
            let left = try await harness.count("select count(*) from accountctl.workers where stop_reason = 'shutdown'")
            #expect(left == 1)
        }
    }

    /// The network lets nothing through from the moment the worker is to stop: the worker ends all the same, and reports
    /// that it lost outcomes.
    @Test func aBlackHoleDoesNotHoldUpTheStop() async throws {
        try await JobHarness.with { harness in
            try await TCPProxy.with(to: harness.database.cluster.port) { proxy in
                let conninfo = harness.database.conninfo(port: proxy.port)
                try await harness.enqueue(try jobs("test.steps", 2, milliseconds: 600_000))
                let worker = try WorkerProcess(harness, conninfo: conninfo, lease: 60_000, grace: 500)
                try await harness.until { try await harness.effects() == 2 }
                proxy.behaviour = .blackHole
                worker.kill(SIGTERM)
                #expect(try await worker.ended(within: .seconds(60)) == 1)
            }
        }
    }
}
