import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Writes under a lost lease do not land.
@Suite(.timeLimit(.minutes(5))) struct FenceTests {
    @Test func aStaleCompletionDoesNotLand() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([JobHarness.plain.job(Note())])
            let first = try await harness.host()
            let second = try await harness.host()
            let stale = try await harness.claim(first)[0]
            try await harness.expire(first)
            #expect(try await harness.rescue() == 1)
            // The job is a suspect now: only a claim for suspects sees it.
            #expect(try await harness.claim(second).isEmpty)
            let fresh = try await harness.pool.withConnection { connection in
                try harness.queue.claim(
                    JobHarness.plainLanes,
                    .init(worker: second, limit: 1, suspects: true),
                    on: connection
                )
            }[0]
            #expect(fresh.lease > stale.lease)
            #expect(fresh.attempt == 1)
            #expect(fresh.crashes == 1)
            #expect(try await harness.finish(stale) == false)
            await #expect(throws: JobQueueError.self) {
                try await harness.pool.withConnection { connection in
                    try JobFence(queue: harness.queue, job: stale.leased).hold(on: connection)
                }
            }
            #expect(try await harness.finish(fresh))
            #expect(try await harness.finish(fresh) == false)
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// Whatever verdict a handler reaches after its lease was lost, the job belongs to another worker and stays as it
    /// is.
    @Test func noStaleVerdictLands() async throws {
        try await JobHarness.with { harness in
            let (worker, stale) = try await harness.claimed()
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.release([stale.leased], on: connection)
            }
            let fresh = try await harness.claim(worker)[0]
            let failure = Verdict.Failure(attempt: 1, error: "x")
            let verdicts: [Verdict] = [
                .giveBack(.init()), .giveBack(.init(wait: .seconds(9), givesAttemptBack: true)),
                .park(reason: "undecodable", failure: failure), .release, .end(.completed), .end(.discarded),
                .end(.cancelled, reason: "x", failure: failure),
            ]
            let job: Statement = "select to_jsonb(j)::text from accountctl.jobs as j"
            let before = try await harness.pool.withConnection { try $0.one(job, as: String.self) }
            for verdict in verdicts {
                let written = try await harness.write([FinishedJob(job: stale, verdict: verdict)])
                #expect(written.landed.isEmpty, "\(verdict)")
                #expect(written.lost == [stale.leased], "\(verdict)")
                let after = try await harness.pool.withConnection { try $0.one(job, as: String.self) }
                #expect(after == before, "\(verdict)")
            }
            #expect(try await harness.finish(fresh))
        }
    }

    /// A stale batch that also holds a good lease: job and lease must match in pairs, not as two separate arrays.
    ///
    /// After a failover that loses the end of the log, lease numbers repeat: the other job may have the same number.
    @Test(arguments: [false, true]) func aBatchIsFencedPairByPair(_ isNumberRepeated: Bool) async throws {
        try await JobHarness.with { harness in
            let (worker, jobs) = try await harness.claimed(3)
            if isNumberRepeated {
                try await harness.execute(
                    """
                    update accountctl.jobs
                    set lease = case id when \(jobs[0].id) then \(jobs[2].lease) else lease + 1000 end
                    where id in (\(jobs[0].id), \(jobs[2].id))
                    """
                )
            } else {
                for job in [jobs[0], jobs[2]] {
                    _ = try await harness.pool.withConnection { connection in
                        try harness.queue.release([job.leased], on: connection)
                    }
                }
                #expect(try await harness.claim(worker, 2).count == 2)
            }
            let held = try await harness.pool.withConnection { connection in
                try harness.beat(worker, jobs, on: connection)?.held
            }
            #expect(held == [jobs[1].leased])
            let (landed, released) = try await harness.pool.withConnection { connection in
                (
                    try harness.queue.finish(
                        .init(outcome: .completed, jobs: jobs.map(\.leased)),
                        on: connection
                    ),
                    try harness.queue.release(jobs.map(\.leased), on: connection)
                )
            }
            #expect(landed == [jobs[1].leased])
            #expect(released.isEmpty)
            #expect(try await harness.unfinished() == 2)
        }
    }

    /// Jobs with the same lease number, as after such a failover, that end together: each gets its own end and output.
    @Test(arguments: [false, true]) func aBatchKeepsJobsOfOneNumberApart(_ isFused: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue((0..<3).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            let jobs = try await [harness.claim(worker)[0], repeated(harness, worker), repeated(harness, worker)]
            #expect(Set(jobs.map(\.lease)).count == 1)
            // The stale job is in the middle, so that neither the first nor the last output of the number fits both
            // others.
            try await harness.execute(
                "update accountctl.jobs set lease = nextval('accountctl.job_leases') where id = \(jobs[1].id)"
            )
            let batch = try zip(jobs, "abc").map { job, text in
                FinishedJob(
                    job: job,
                    verdict: .end(.completed, output: try JobDocument(encoding: Note(text: String(text))))
                )
            }
            if isFused {
                let ended = try await harness.pool.withConnection { connection in
                    try harness.queue.exchange(
                        OutcomeBatch(batch).completed,
                        JobHarness.plainLanes,
                        .init(worker: worker, limit: 1),
                        on: connection
                    )
                }
                #expect(ended.landed.count == 2)
            } else {
                let written = try await harness.write(batch)
                #expect(written.landed.count == 2)
                #expect(written.lost.count == 1)
            }
            let outputs: Statement = "select string_agg(output ->> 'text', '' order by id) from accountctl.job_history"
            #expect(try await harness.pool.withConnection { try $0.one(outputs, as: String.self) } == "ac")
        }
    }

    /// Claims a job under the lease number of the claim before.
    private func repeated(_ harness: JobHarness, _ worker: Int64) async throws -> ClaimedJob {
        try await harness.database.psql(
            "select setval('accountctl.job_leases', (select last_value from accountctl.job_leases), false)"
        )
        return try await harness.claim(worker)[0]
    }
}
