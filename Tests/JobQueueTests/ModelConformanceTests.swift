import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Holds the model of the simulation against the real statements: the same random steps on both, compared after each.
@Suite(.timeLimit(.minutes(5))) struct ModelConformanceTests {
    private static let lanes = [Lane(queue: "default", kind: "test.model", timeout: .seconds(600))]
    private static let kind = JobKind<Note>("test.model")

    /// One that is the same each time and one that is met for the first time, which a failure names as its argument.
    static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["ACCOUNTCTL_SIMULATION_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? [11, .random(in: 1_000_000...1_000_000_000_000)]

    @Test(arguments: seeds) func theModelDoesWhatTheStatementsDo(_ seed: UInt64) async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                var random = SeededRandom(seed: seed)
                var model = ModelTable()
                /// The table's lease numbers by the model's.
                var leases: [Int64: Int64] = [:]
                var claims: [(model: JobLease, real: JobLease)] = []
                var workers: [Int64] = []
                var keys: [Int64: String] = [:]
                for step in 0..<600 {
                    switch Int.random(in: 0..<18, using: &random) {
                    case 0, 1:
                        let job = try Self.kind.job(Note(), uniqueKey: "\(step)")
                        let id = try harness.queue.enqueue([job], on: connection)[0].id
                        keys[id] = "\(step)"
                        model.jobs[id] = ModelTable.Job()
                    case 2:
                        guard workers.count < 6 else { break }
                        let id = try harness.queue.addWorker(Self.lanes, on: connection)
                        workers.append(id)
                        model.register(id, now: 0, lifetime: 10)
                    case 3, 4, 5:
                        guard let worker = workers.randomElement(using: &random) else { break }
                        let limit = Int.random(in: 1...3, using: &random)
                        // The model has one kind of claim; the engine tells suspects apart.
                        var real = try harness.queue.claim(
                            Self.lanes,
                            .init(worker: worker, limit: limit),
                            on: connection
                        )
                        let wanted = Set(
                            model.jobs.filter { $0.value.state == "available" && $0.value.crashes == 0 }.keys
                        )
                        #expect(Set(real.map(\.id)).isSubset(of: wanted))
                        #expect(real.count == min(limit, wanted.count))
                        if real.isEmpty {
                            real = try harness.queue.claim(
                                Self.lanes,
                                .init(worker: worker, limit: limit, suspects: true),
                                on: connection
                            )
                        }
                        for job in real {
                            let others = model.jobs.filter { $0.value.state == "available" && $0.key != job.id }
                            for id in others.keys { model.jobs[id]?.state = "hidden" }
                            let claimed = model.claim(worker: worker, limit: 1, now: step, timeout: 1000)
                            for id in others.keys { model.jobs[id]?.state = "available" }
                            #expect(claimed.map(\.id) == [job.id])
                            guard let claim = claimed.first else { continue }
                            leases[claim.lease] = job.lease
                            claims.append((claim, job.leased))
                        }
                    case 6, 7:
                        guard let claim = claims.randomElement(using: &random) else { break }
                        let landed = try harness.queue.finish(
                            .init(outcome: .completed, jobs: [claim.real]),
                            on: connection
                        )
                        #expect(landed.isEmpty != model.finish(claim.model, "completed"))
                    case 8:
                        guard let claim = claims.randomElement(using: &random) else { break }
                        let (gives, waits) = (Bool.random(using: &random), Bool.random(using: &random))
                        let real = try harness.queue.giveBack(
                            [.init(job: claim.real, wait: waits ? .seconds(3600) : nil, givesAttemptBack: gives)],
                            on: connection
                        )
                        #expect(
                            (real.keys.contains(claim.real))
                                == model.giveBack(claim.model, waits: waits, givesAttemptBack: gives)
                        )
                    case 9:
                        guard let claim = claims.randomElement(using: &random) else { break }
                        let real = try harness.queue.release([claim.real], on: connection)
                        #expect((real == [claim.real]) == model.release(claim.model))
                    case 10:
                        guard let id = model.jobs.keys.sorted().randomElement(using: &random) else { break }
                        _ = try harness.queue.cancel(id, reason: "m", on: connection)
                        model.cancel(id)
                    case 11:
                        guard let worker = workers.randomElement(using: &random) else { break }
                        try connection.execute(
                            "update accountctl.workers set expires_at = now() - interval '1 second' where id = \(worker)"
                        )
                        model.hosts[worker]?.expiresAt = -1
                        let real = try harness.queue.rescue(on: connection).jobs
                        #expect(real == model.rescue(now: 0))
                        workers.removeAll { $0 == worker }
                    case 12:
                        guard let id = model.jobs.keys.sorted().randomElement(using: &random) else { break }
                        let real = try harness.queue.runNow(keys: [try #require(keys[id])], on: connection)
                        #expect(real == (model.runNow(id) ? 1 : 0))
                    case 13:
                        guard let id = model.jobs.keys.sorted().randomElement(using: &random) else { break }
                        try connection.execute(
                            "update accountctl.jobs set deadline_at = now() - interval '1 minute' where id = \(id)"
                        )
                        model.jobs[id]?.deadlineAt = -60
                        let real = try harness.queue.takeOverdue(grace: .seconds(30), alarmed: [:], on: connection)
                        #expect(real == model.takeOverdue(now: 0, grace: 30).count)
                    case 14:
                        try connection.execute("update accountctl.jobs set run_at = now() where state = 'scheduled'")
                        #expect(try harness.queue.promote(on: connection).promoted == model.promote())
                    case 15:
                        guard let id = model.jobs.keys.sorted().randomElement(using: &random) else { break }
                        var isDone = true
                        do {
                            try harness.queue.discard(id, reason: "m", on: connection)
                        } catch let error as JobQueueError where error.code == .wrongState {
                            isDone = false
                        }
                        #expect(isDone == model.discard(id), "job \(id) at step \(step) of seed \(seed)")
                    case 16:
                        let ids = (Array(model.jobs.keys) + model.history.keys).sorted()
                        guard let id = ids.randomElement(using: &random) else { break }
                        var isDone = true
                        do {
                            _ = try harness.queue.retry(id, on: connection)
                        } catch let error as JobQueueError where error.code == .wrongState {
                            isDone = false
                        }
                        #expect(isDone == model.retry(id), "job \(id) at step \(step) of seed \(seed)")
                    default:
                        guard let worker = workers.randomElement(using: &random) else { break }
                        let some = claims.filter { _ in Bool.random(using: &random) }
                        let answer = try harness.queue.beat(
                            .init(
                                worker: worker,
                                lifetime: .seconds(600),
                                jobs: some.map(\.real),
                                isStopping: false,
                                releasesBefore: .max / 2
                            ),
                            on: connection
                        )
                        let expected = model.beat(
                            worker: worker,
                            jobs: some.map(\.model),
                            releasesBefore: .max,
                            now: 0,
                            lifetime: 10
                        )
                        #expect(Set(answer.held.map(\.lease)) == Set(expected.held.compactMap { leases[$0.lease] }))
                        #expect(
                            Set(answer.cancelled.map(\.lease))
                                == Set(expected.cancelled.compactMap { leases[$0.lease] })
                        )
                    }
                    let rows = try connection.query(
                        "select id, state::text, worker, attempt, crashes from accountctl.jobs",
                        as: (Int64, String, Int64?, Int16, Int16).self
                    )
                    #expect(rows.count == model.jobs.count, "step \(step) of seed \(seed)")
                    for row in rows {
                        guard let job = model.jobs[row.0] else { continue }
                        let isSame =
                            job.state == row.1 && job.worker == row.2 && job.attempt == Int(row.3)
                            && job.crashes == Int(row.4)
                        #expect(isSame, "job \(row.0) at step \(step) of seed \(seed)")
                    }
                    let ended = try connection.query(
                        "select id, outcome::text, attempt from accountctl.job_history",
                        as: (Int64, String, Int16).self
                    )
                    #expect(ended.count == model.history.count, "step \(step) of seed \(seed)")
                    for row in ended {
                        let end = model.history[row.0]
                        let isSame = end?.outcome == row.1 && end?.attempt == Int(row.2)
                        #expect(isSame, "end of job \(row.0) at step \(step) of seed \(seed)")
                    }
                }
            }
        }
    }
}
