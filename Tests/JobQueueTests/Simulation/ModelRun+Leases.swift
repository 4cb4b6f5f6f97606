import Postgres
import Testing

@testable import JobQueue

/// The steps of workers, each with the jobs that it holds.
extension ModelRun {
    mutating func addWorker(on connection: isolated Connection) throws {
        guard workers.count < 6 else { return }
        let id = try queue.addWorker(Self.lanes, on: connection)
        workers.append(id)
        model.register(id, now: 0, lifetime: 10)
    }

    mutating func claim(on connection: isolated Connection) throws {
        guard let worker = workers.randomElement(using: &random) else { return }
        let limit = Int.random(in: 1...3, using: &random)
        // The model has one kind of claim; the engine claims suspects separately.
        var real = try queue.claim(Self.lanes, .init(worker: worker, limit: limit), on: connection)
        let wanted = Set(model.jobs.filter { $0.value.state == "available" && $0.value.crashes == 0 }.keys)
        #expect(Set(real.map(\.id)).isSubset(of: wanted))
        #expect(real.count == min(limit, wanted.count))
        if real.isEmpty {
            real = try queue.claim(Self.lanes, .init(worker: worker, limit: limit, suspects: true), on: connection)
        }
        for job in real {
            let others = model.jobs.filter { $0.value.state == "available" && $0.key != job.id }
            for id in others.keys { model.jobs[id]?.state = "hidden" }
            let claimed = model.claim(worker: worker, limit: 1)
            for id in others.keys { model.jobs[id]?.state = "available" }
            #expect(claimed.map(\.id) == [job.id])
            guard let claim = claimed.first else { continue }
            leases[claim.lease] = job.lease
            claims.append((claim, job.leased))
        }
    }

    mutating func finish(on connection: isolated Connection) throws {
        guard let claim = claims.randomElement(using: &random) else { return }
        let landed = try queue.finish(.init(outcome: .completed, jobs: [claim.real]), on: connection)
        let wanted = model.finish(claim.model, "completed")
        #expect(landed.isEmpty != wanted)
    }

    mutating func giveBack(on connection: isolated Connection) throws {
        guard let claim = claims.randomElement(using: &random) else { return }
        let gives = Bool.random(using: &random)
        let waits = Bool.random(using: &random)
        let real = try queue.giveBack(
            [.init(claim.real, NextTurn(wait: waits ? .seconds(3600) : nil, givesAttemptBack: gives))],
            on: connection
        )
        let wanted = model.giveBack(claim.model, waits: waits, givesAttemptBack: gives)
        #expect(real.keys.contains(claim.real) == wanted)
    }

    mutating func park(on connection: isolated Connection) throws {
        guard let claim = claims.randomElement(using: &random) else { return }
        let next = NextTurn(givesAttemptBack: true)
        let real = try queue.giveBack([.init(claim.real, next, parkedFor: "undecodable")], on: connection)
        let wanted = model.park(claim.model)
        #expect(real.keys.contains(claim.real) == wanted)
    }

    mutating func release(on connection: isolated Connection) throws {
        guard let claim = claims.randomElement(using: &random) else { return }
        let real = try queue.release([claim.real], on: connection)
        let wanted = model.release(claim.model)
        #expect((real == [claim.real]) == wanted)
    }

    mutating func rescue(on connection: isolated Connection) throws {
        guard let worker = (workers + formerWorkers).randomElement(using: &random) else { return }
        try connection.execute(
            "update accountctl.workers set expires_at = now() - interval '1 second' where id = \(worker)"
        )
        model.hosts[worker]?.expiresAt = -1
        let real = try queue.rescue(on: connection).jobs
        let wanted = model.rescue(now: 0)
        #expect(real == wanted)
        workers.removeAll { $0 == worker }
        formerWorkers.removeAll { $0 == worker }
    }

    mutating func beat(on connection: isolated Connection) throws {
        guard let worker = (workers + formerWorkers).randomElement(using: &random) else { return }
        var beaten: [(model: JobLease, real: JobLease)] = []
        for claim in claims where claim.real.worker == worker && Bool.random(using: &random) { beaten.append(claim) }
        let answer = try queue.beat(
            .init(
                worker: worker,
                lifetime: .seconds(600),
                jobs: beaten.map(\.real),
                isStopping: false,
                releasesUpTo: .max / 2
            ),
            on: connection
        )
        let wanted = model.beat(
            worker: worker,
            jobs: beaten.map(\.model),
            releasesUpTo: .max,
            now: 0,
            lifetime: 10
        )
        #expect((answer == nil) == (wanted == nil))
        guard let answer, let wanted else { return }
        let held = Set(wanted.held.compactMap { leases[$0.lease] })
        let cancelled = Set(wanted.cancelled.compactMap { leases[$0.lease] })
        #expect(Set(answer.held.map(\.lease)) == held)
        #expect(Set(answer.cancelled.map(\.lease)) == cancelled)
    }
}
