import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Races between claim, completion, rescue, release and cancel, forced by open transactions.
@Suite(.timeLimit(.minutes(5))) struct RaceTests {
    static let kind = JobKind<Note>("test.plain")
    static let lanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]

    private func host(_ harness: JobHarness, lifetime: Duration = .seconds(60)) async throws -> Int64 {
        try await harness.pool.withConnection { connection in
            try harness.queue.addWorker(Self.lanes, lifetime: lifetime, on: connection)
        }
    }

    private func claim(_ harness: JobHarness, _ worker: Int64, _ limit: Int = 1) async throws -> [ClaimedJob] {
        try await harness.pool.withConnection { connection in
            try harness.queue.claim(Self.lanes, .init(worker: worker, limit: limit), on: connection)
        }
    }

    private func expire(_ harness: JobHarness, _ worker: Int64) async throws {
        try await harness.execute(
            "update accountctl.workers set expires_at = now() - interval '1 second' where id = \(worker)"
        )
    }

    private func finish(_ harness: JobHarness, _ job: ClaimedJob) async throws -> Bool {
        try await harness.pool.withConnection { connection in
            try harness.queue.finish(.init(outcome: .completed, jobs: [job.leased]), on: connection)
                .contains(job.leased)
        }
    }

    private func write(_ jobs: [FinishedJob], _ harness: JobHarness) async throws -> Settlement.Written {
        let progress = ExchangeProgress()
        try await harness.pool.withConnection { connection in
            try Settlement(queue: harness.queue).write(jobs, progress, on: connection)
        }
        return progress.written
    }

    private func rescue(_ harness: JobHarness) async throws -> Int {
        try await harness.pool.withConnection { connection in try harness.queue.rescue(on: connection).jobs }
    }

    /// Eight connections claim what is there; nobody gets what another has, nobody gets more than asked for.
    @Test func concurrentClaimsShareTheWork() async throws {
        try await JobHarness.with(connections: 8) { harness in
            try await harness.enqueue(try (0..<400).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let all = try await withThrowingTaskGroup(of: [ClaimedJob].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var mine: [ClaimedJob] = []
                        while true {
                            let batch = try await claim(harness, worker, 7)
                            #expect(batch.count <= 7)
                            if batch.isEmpty { return mine }
                            mine += batch
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(all.count == 400)
            #expect(Set(all.map(\.id)).count == 400)
            #expect(Set(all.map(\.lease)).count == 400)
        }
    }

    /// A claim over several lanes keeps no more from others than it takes.
    @Test(arguments: [false, true]) func aClaimLeavesTheRestToOthers(_ isBounded: Bool) async throws {
        let kinds = (0..<10).map { JobKind<Note>("test.k\($0)") }
        let lanes = kinds.map { Lane(queue: "default", kind: $0.name, timeout: .seconds(60)) }
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<500).map { try kinds[$0 % 10].job(Note()) })
            let worker = try await host(harness)
            let bounds = Dictionary(
                uniqueKeysWithValues: lanes.map { (ClaimBounds.Key(lane: $0.name, priority: 5), Int64(1)) }
            )
            let request = JobQueue.ClaimRequest(worker: worker, limit: 50, bounds: isBounded ? bounds : nil)
            let (first, second) = try await harness.pool.withTransaction { connection in
                let first = try harness.queue.claimPlain(lanes, request, on: connection)
                return (
                    first,
                    try await harness.pool.withConnection { try harness.queue.claimPlain(lanes, request, on: $0) }
                )
            }
            for claim in [first, second] {
                #expect(claim.jobs.count == 50)
                #expect(!claim.isCut)
            }
            #expect(Set(first.jobs.map(\.id)).isDisjoint(with: second.jobs.map(\.id)))
            // Urgent ones in one lane, which another claim takes: there is more in the others.
            try await harness.enqueue(try (0..<50).map { _ in try kinds[0].job(Note(), priority: 1) })
            let third = try await harness.pool.withTransaction { connection in
                #expect(
                    try harness.queue.claimPlain(lanes, request, on: connection).jobs.allSatisfy { $0.priority == 1 }
                )
                return try await harness.pool.withConnection { try harness.queue.claimPlain(lanes, request, on: $0) }
            }
            #expect(third.isCut)
        }
    }

    @Test func aStaleCompletionDoesNotLand() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let first = try await host(harness)
            let second = try await host(harness)
            let stale = try await claim(harness, first)[0]
            try await expire(harness, first)
            #expect(try await rescue(harness) == 1)
            // Suspect now: only a claim for such jobs sees it.
            #expect(try await claim(harness, second).isEmpty)
            let fresh = try await harness.pool.withConnection { connection in
                try harness.queue.claim(
                    Self.lanes,
                    .init(worker: second, limit: 1, suspects: true),
                    on: connection
                )
            }[0]
            #expect(fresh.lease > stale.lease)
            #expect(fresh.attempt == 1)
            #expect(fresh.crashes == 1)
            #expect(try await finish(harness, stale) == false)
            await #expect(throws: JobQueueError.self) {
                try await harness.pool.withConnection { connection in
                    try JobFence(queue: harness.queue, job: stale.leased).hold(on: connection)
                }
            }
            #expect(try await finish(harness, fresh))
            #expect(try await finish(harness, fresh) == false)
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// Whatever a handler came to after its lease was lost: the job is another worker's, and stays as it is.
    @Test func noStaleVerdictLands() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let stale = try await claim(harness, worker)[0]
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.release([stale.leased], on: connection)
            }
            let fresh = try await claim(harness, worker)[0]
            let failure = Verdict.Failure(attempt: 1, error: "x")
            let verdicts: [Verdict] = [
                .giveBack(wait: nil, givesAttemptBack: false), .giveBack(wait: .seconds(9), givesAttemptBack: true),
                .park(reason: "undecodable", failure: failure), .release, .end(.completed), .end(.discarded),
                .end(.cancelled, reason: "x", failure: failure),
            ]
            let job: Statement = "select to_jsonb(j)::text from accountctl.jobs as j"
            let before = try await harness.pool.withConnection { try $0.one(job, as: String.self) }
            for verdict in verdicts {
                let written = try await write([FinishedJob(job: stale, verdict: verdict)], harness)
                #expect(written.landed.isEmpty, "\(verdict)")
                #expect(written.lost == [stale.leased], "\(verdict)")
                let after = try await harness.pool.withConnection { try $0.one(job, as: String.self) }
                #expect(after == before, "\(verdict)")
            }
            #expect(try await finish(harness, fresh))
        }
    }

    /// A stale batch that also holds a good lease: pairs must match, not the two arrays by themselves.
    ///
    /// A failover that loses the end of the log gives out numbers once more: the other job's number among them.
    @Test(arguments: [false, true]) func aBatchIsFencedPairByPair(_ isNumberRepeated: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue((0..<3).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let jobs = try await claim(harness, worker, 3)
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
                #expect(try await claim(harness, worker, 2).count == 2)
            }
            let held = try await harness.pool.withConnection { connection in
                try harness.beat(worker, jobs, on: connection).held
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
            #expect(released == 0)
            #expect(try await harness.unfinished() == 2)
        }
    }

    /// Jobs that were given one number, as after such a failover, and end together: each has its own end and output.
    @Test(arguments: [false, true]) func aBatchKeepsJobsOfOneNumberApart(_ isFused: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue((0..<3).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let jobs = try await [claim(harness, worker)[0], repeated(harness, worker), repeated(harness, worker)]
            #expect(Set(jobs.map(\.lease)).count == 1)
            // In the middle, so that neither the first nor the last output of the number will do for both others.
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
                        Settlement.split(batch).completed,
                        Self.lanes,
                        .init(worker: worker, limit: 1),
                        on: connection
                    )
                }
                #expect(ended.landed.count == 2)
            } else {
                let written = try await write(batch, harness)
                #expect(written.landed.count == 2)
                #expect(written.lost.count == 1)
            }
            let outputs: Statement = "select string_agg(output ->> 'text', '' order by id) from accountctl.job_history"
            #expect(try await harness.pool.withConnection { try $0.one(outputs, as: String.self) } == "ac")
        }
    }

    /// Claims a job under the number that the claim before it was given.
    private func repeated(_ harness: JobHarness, _ worker: Int64) async throws -> ClaimedJob {
        try await harness.database.psql(
            "select setval('accountctl.job_leases', (select last_value from accountctl.job_leases), false)"
        )
        return try await claim(harness, worker)[0]
    }

    /// A newer job takes the key while the old one is brought back: that is an answer, not a failure of the database.
    @Test func aRetryMeetsANewerJobOfItsKey() async throws {
        try await JobHarness.with { harness in
            let old = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: "k")])[0].id
            try await harness.pool.withConnection { connection in
                try harness.queue.discard(old, reason: "test", on: connection)
            }
            let retried = try await harness.pool.withTransaction { newer in
                _ = try harness.queue.enqueue([Self.kind.job(Note(), uniqueKey: "k")], on: newer)
                let retried = Task {
                    try await harness.pool.withConnection { connection in try harness.queue.retry(old, on: connection) }
                }
                try await newer.waitUntilSomebodyIsBlocked()
                return retried
            }
            let error = await #expect(throws: JobQueueError.self) { try await retried.value }
            #expect(error?.code == .liveDuplicate)
            #expect(try await harness.show(old)?.record.state == .discarded)
        }
    }

    /// Paused between two jobs of a busy worker: the statement that ends one job takes no other.
    @Test func aPauseHoldsTheClaimThatComesWithAnEnd() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note()), Self.kind.job(Note())])
            let worker = try await host(harness)
            let first = try await claim(harness, worker)[0]
            let exchange = { @Sendable (job: ClaimedJob) in
                try await harness.pool.withConnection { connection in
                    try harness.queue.exchange(
                        .init(outcome: .completed, jobs: [job.leased]),
                        Self.lanes,
                        .init(worker: worker, limit: 5),
                        on: connection
                    )
                }
            }
            try await harness.pool.withConnection { connection in
                try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            let paused = try await exchange(first)
            #expect(paused.landed == [first.leased])
            #expect(paused.claimed.jobs.isEmpty)
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.resume(queue: "default", on: connection)
            }
            #expect(try await exchange(first).claimed.jobs.count == 1)
        }
    }

    /// Lanes under a limit are claimed by a statement of their own.
    @Test func aPauseHoldsLanesUnderALimit() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let claim = { @Sendable in
                try await harness.pool.withConnection { connection in
                    try await harness.queue.claimLimited(
                        Self.lanes,
                        .init(worker: worker, limit: 5),
                        on: connection
                    ).jobs.count
                }
            }
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.limit(kind: "test.plain", running: 3, runningPerKey: nil, on: connection)
                try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            #expect(try await claim() == 0)
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.resume(queue: "default", on: connection)
            }
            #expect(try await claim() == 1)
        }
    }

    /// The fence holds the row: a rescue goes past it, and the write of the transaction lands whole.
    @Test func aFencedTransactionIsNotRescuedUnder() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            try await expire(harness, worker)
            try await harness.pool.withTransaction { connection in
                try JobFence(queue: harness.queue, job: job.leased).hold(on: connection)
                #expect(try await self.rescue(harness) == 0)
                try harness.effect(job.id, "fenced", on: connection)
                let landed = try harness.queue.finish(
                    .init(outcome: .completed, jobs: [job.leased]),
                    on: connection
                )
                #expect(landed == [job.leased])
            }
            #expect(try await rescue(harness) == 0)
            #expect(try await harness.effects() == 1)
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// A completion that is being written while the rescue looks: River overwrote it.
    @Test func aCompletionUnderWayIsNotRescued() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            try await expire(harness, worker)
            try await harness.pool.withTransaction { connection in
                let landed = try harness.queue.finish(
                    .init(outcome: .completed, jobs: [job.leased]),
                    on: connection
                )
                #expect(landed == [job.leased])
                #expect(try await self.rescue(harness) == 0)
            }
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.unfinished() == 0)
        }
    }

    /// Claimed by a worker that registered since the rescue began, which does not know of it.
    @Test func aRescueLeavesWhatAnotherTookOver() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            // At the row of the one the rescue is held up; the other said goodbye while somebody had its job locked.
            try await expire(harness, try await host(harness))
            let gone = try await host(harness)
            let job = try await claim(harness, gone)[0]
            try await harness.execute(
                "update accountctl.workers set stopped_at = now(), stop_reason = 'shutdown' where id = \(gone)"
            )
            try await harness.execute("alter table accountctl.workers rename to workers_kept")
            try await harness.execute(
                """
                create function public.may_pass() returns boolean language plpgsql as $$
                begin
                    if current_setting('test.waits', true) = 'on' then perform pg_advisory_xact_lock_shared(77); end if;
                    return true;
                end
                $$
                """
            )
            try await harness.execute(
                "create view accountctl.workers as select * from accountctl.workers_kept where public.may_pass()"
            )
            let (rescued, newcomer) = try await harness.pool.withTransaction { other in
                try other.execute("select pg_advisory_xact_lock(77)")
                let rescued = Task {
                    try await harness.pool.withTransaction { connection in
                        try connection.execute(
                            "select set_config('test.waits', 'on', true), set_config('lock_timeout', '0', true)"
                        )
                        return try harness.queue.rescue(on: connection).jobs
                    }
                }
                try await other.waitUntilSomebodyIsBlocked()
                let released = try await harness.pool.withConnection { connection in
                    try harness.queue.release([job.leased], on: connection)
                }
                #expect(released == 1)
                let newcomer = try await self.host(harness)
                #expect(try await self.claim(harness, newcomer).map(\.id) == [job.id])
                return (rescued, newcomer)
            }
            #expect(try await rescued.value == 0)
            let held: Statement =
                "select count(*) from accountctl.jobs where worker = \(newcomer) and state = 'running' and crashes = 0"
            #expect(try await harness.count(held) == 1)
        }
    }

    @Test func manyRescuersCountOneCrash() async throws {
        try await JobHarness.with(connections: 8) { harness in
            try await harness.enqueue(try (0..<50).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            #expect(try await claim(harness, worker, 50).count == 50)
            try await expire(harness, worker)
            let rescued = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await rescue(harness) } }
                return try await group.reduce(0, +)
            }
            // What one of them skipped since another held it is rescued by that one, or by the next round.
            #expect(rescued + (try await rescue(harness)) == 50)
            #expect(try await harness.count("select max(crashes)::int from accountctl.jobs") == 1)
        }
    }

    /// A heartbeat that is under way when a rescue looks, late as it is, keeps its worker.
    @Test func aBeatInTimeKeepsItsJobs() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            try await expire(harness, worker)
            try await harness.pool.withTransaction { connection in
                let answer = try harness.beat(worker, [job], on: connection)
                #expect(answer.isKnown)
                #expect(answer.held == [job.leased])
                #expect(try await rescue(harness) == 0)
            }
            #expect(try await rescue(harness) == 0)
            #expect(try await finish(harness, job))
        }
    }

    /// One that comes while the rescue is under way waits for it, and learns that all is lost.
    @Test func aBeatWaitsForARescueUnderWay() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            try await expire(harness, worker)
            let answer = try await harness.pool.withTransaction { rescuer in
                #expect(try harness.queue.rescue(on: rescuer).jobs == 1)
                let answer = Task {
                    try await harness.pool.withConnection { connection in
                        try harness.beat(worker, [job], on: connection)
                    }
                }
                try await rescuer.waitUntilSomebodyIsBlocked()
                return answer
            }
            #expect(try await !answer.value.isKnown)
            #expect(try await harness.show(job.id)?.record.state == .available)
        }
    }

    /// Whoever rescues need not know the kind: what runs is found by its worker and its deadline.
    @Test func aRescuerNeedNotKnowTheKind() async throws {
        try await JobHarness.with { harness in
            let ids = try await harness.enqueue(try (0..<2).map { _ in try Self.kind.job(Note()) }).map(\.id)
            let dead = try await host(harness)
            let deaf = try await host(harness)
            #expect(try await claim(harness, dead)[0].id == ids[0])
            #expect(try await claim(harness, deaf)[0].id == ids[1])
            try await expire(harness, dead)
            try await harness.execute(
                "update accountctl.jobs set deadline_at = now() - interval '1 second' where id = \(ids[1])"
            )
            var registry = JobRegistry()
            try registry.register(JobKind<Note>("test.other")) { _, _ in .completed() }
            let rescuer = try harness.worker(registry) { $0.overdueGrace = .zero }
            try await rescuer.rescueLost()
            try await rescuer.takeOverdue()
            let records = try await [harness.show(ids[0]), harness.show(ids[1])].map { $0?.record }
            #expect(records.map { $0?.state } == [.available, .scheduled])
            #expect(records.map { $0?.crashes } == [1, 0])
            #expect(records.map { $0?.attempt } == [0, 1])
        }
    }

    /// One that comes after the rescue finds nothing to keep, and does not make a worker of a lost one.
    @Test func aBeatTooLateRevivesNothing() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            try await expire(harness, worker)
            #expect(try await rescue(harness) == 1)
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [job], releasesBefore: .max / 2, on: connection)
            }
            #expect(!answer.isKnown)
            #expect(answer.held.isEmpty)
            let lost: Statement = """
                select count(*) from accountctl.workers where stop_reason = 'lost' and expires_at < now()
                """
            #expect(try await harness.count(lost) == 1)
            #expect(try await harness.show(job.id)?.record.state == .available)
        }
    }

    /// A claim whose reply was lost: the job is released by the worker's own beat, the attempt not counted.
    @Test func anUnknownClaimIsReleased() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note()), Self.kind.job(Note())])
            let worker = try await host(harness)
            let jobs = try await claim(harness, worker, 2)
            let answer = try await harness.pool.withConnection { connection in
                try harness.beat(worker, [jobs[0]], releasesBefore: .max / 2, on: connection)
            }
            #expect(answer.released == 1)
            let record = try #require(try await harness.show(jobs[1].id)?.record)
            #expect(record.state == .available)
            #expect(record.attempt == 0)
            #expect(record.crashes == 0)
        }
    }

    @Test func aCancelMeetsARetry() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            let result = try await harness.pool.withConnection { connection in
                try harness.queue.cancel(job.id, reason: "x", on: connection)
            }
            #expect(result == .requested)
            let verdict = Verdict.giveBack(wait: .seconds(9), givesAttemptBack: false)
            let written = try await write([FinishedJob(job: job, verdict: verdict)], harness)
            #expect(written.landed == [job.leased])
            #expect(try await harness.finished("cancelled") == 1)
        }
    }

    /// Its handler does not stop: the job goes on elsewhere, and is an alarm once its usual attempts are used up.
    @Test func aJobWhoseHandlerDoesNotStopIsTakenAndToldAtLast() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([try Self.kind.job(Note())])
            let worker = try await host(harness)
            for attempt in 1...2 {
                let job = try await claim(harness, worker)[0]
                try await harness.execute("update accountctl.jobs set deadline_at = now() - interval '1 second'")
                let taken = try await harness.pool.withConnection { connection in
                    try harness.queue.takeOverdue(
                        grace: .zero,
                        alarmed: ["test.plain": .withoutLastAttempt(attempts: 2)],
                        on: connection
                    )
                }
                #expect(taken == 1)
                // What the deaf handler says at last is not written.
                #expect(try await !finish(harness, job))
                let alarms =
                    "select count(*) from accountctl.jobs where exhausted_at is not null and run_at > now() + interval '1 hour'"
                #expect(try await harness.count(Statement(unsafeSQL: alarms)) == (attempt == 2 ? 1 : 0))
                try await harness.execute("update accountctl.jobs set run_at = now(), state = 'available'")
            }
        }
    }

    /// Woken while it runs, it does not see what it was woken for: then it does not wait.
    @Test(arguments: [false, true]) func aJobThatIsWokenWhileItRunsRunsOnceMore(_ isWoken: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([try Self.kind.job(Note())])
            let worker = try await host(harness)
            let job = try await claim(harness, worker)[0]
            if isWoken { try await harness.execute("update accountctl.jobs set run_at = clock_timestamp()") }
            let verdict = Verdict.giveBack(wait: .seconds(3600), givesAttemptBack: true)
            #expect(try await write([FinishedJob(job: job, verdict: verdict)], harness).landed == [job.leased])
            let again = try await claim(harness, worker)
            #expect(again.count == (isWoken ? 1 : 0))
            // Once is enough.
            guard let next = again.first else { return }
            #expect(try await write([FinishedJob(job: next, verdict: verdict)], harness).landed == [next.leased])
            #expect(try await claim(harness, worker).isEmpty)
        }
    }

    /// One output that the server cannot store must not take the batch with it.
    @Test func aBadValueSpoilsItselfOnly() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<5).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let jobs = try await claim(harness, worker, 5)
            let finished = jobs.enumerated().map { index, job in
                let output = JobDocument(uncheckedJSON: index == 2 ? #"{"a":"\u0000"}"# : #"{"a":1}"#)
                return FinishedJob(job: job, verdict: .end(.completed, output: output))
            }
            let written = try await write(finished, harness)
            #expect(written.landed == Set(jobs.map(\.leased)))
            #expect(written.mended.keys.contains(jobs[2].leased))
            #expect(try await harness.finished("completed") == 5)
            #expect(
                try await harness.count("select count(*) from accountctl.job_history where output is not null") == 4
            )
        }
    }

    /// What was written before a later part failed is told: written again it would look like a lost lease.
    @Test func aPartThatFailsLeavesTheOthersWritten() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<3).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let jobs = try await claim(harness, worker, 3)
            let finished = [
                FinishedJob(job: jobs[0], verdict: .end(.completed)),
                FinishedJob(job: jobs[1], verdict: .giveBack(wait: .seconds(9), givesAttemptBack: true)),
                FinishedJob(job: jobs[2], verdict: .giveBack(wait: .seconds(9), givesAttemptBack: true)),
            ]
            let progress = ExchangeProgress()
            try await harness.pool.withTransaction { other in
                _ = try other.query(
                    "select id from accountctl.jobs where id = \(jobs[1].id) for update",
                    as: Int64.self
                )
                // In front, so that the other has its turn after the wait.
                try await harness.pool.withConnection { connection in
                    try Settlement(queue: harness.queue).write(finished, progress, on: connection)
                }
            }
            #expect(progress.written.landed == [jobs[0].leased, jobs[2].leased])
            #expect(progress.written.locked == [jobs[1].leased])
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// A goodbye hands back what it can, and waits for nobody's lock.
    @Test func aGoodbyeLeavesALockedJobToTheRescue() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<2).map { _ in try Self.kind.job(Note()) })
            let worker = try await host(harness)
            let jobs = try await claim(harness, worker, 2)
            try await harness.pool.withTransaction { other in
                try JobFence(queue: harness.queue, job: jobs[0].leased).hold(on: other)
                try await harness.pool.withConnection { connection in
                    try harness.queue.deregister(worker: worker, on: connection)
                }
                #expect(try await harness.show(jobs[0].id)?.record.state == .running)
                #expect(try await harness.show(jobs[1].id)?.record.state == .available)
                #expect(try await rescue(harness) == 0)
            }
            #expect(try await rescue(harness) == 1)
            #expect(try await harness.show(jobs[1].id)?.record.crashes == 0)
        }
    }

    /// A suspect that ran and came back is none any more.
    @Test func aSuspectIsAcquittedByComingBack() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue([Self.kind.job(Note())])
            try await harness.execute("update accountctl.jobs set crashes = 2")
            let worker = try await host(harness)
            let job = try await harness.pool.withConnection { connection in
                try harness.queue.claim(
                    Self.lanes,
                    .init(worker: worker, limit: 1, suspects: true),
                    on: connection
                )
            }[0]
            _ = try await write(
                [FinishedJob(job: job, verdict: .giveBack(wait: nil, givesAttemptBack: true))],
                harness
            )
            #expect(try await harness.show(job.id)?.record.crashes == 0)
        }
    }
}
