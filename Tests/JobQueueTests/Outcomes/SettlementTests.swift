import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Outcomes that are written together do not fail because of each other.
@Suite(.timeLimit(.minutes(5))) struct SettlementTests {
    /// One output that the server cannot store does not fail the whole batch.
    @Test func aBadValueSpoilsItselfOnly() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(5)
            let finished = jobs.enumerated().map { index, job in
                let output = JobDocument(uncheckedJSON: index == 2 ? #"{"a":"\u0000"}"# : #"{"a":1}"#)
                return FinishedJob(job: job, verdict: .end(.completed, output: output))
            }
            let written = try await harness.write(finished)
            #expect(written.landed == Set(jobs.map(\.leased)))
            #expect(written.mended.keys.contains(jobs[2].leased))
            #expect(try await harness.finished("completed") == 5)
            #expect(
                try await harness.count("select count(*) from accountctl.job_history where output is not null") == 4
            )
        }
    }

    /// Outcomes that were written before a later part failed are reported: written again they would look like lost
    /// leases.
    @Test func aPartThatFailsLeavesTheOthersWritten() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(3)
            let finished = [
                FinishedJob(job: jobs[0], verdict: .end(.completed)),
                FinishedJob(job: jobs[1], verdict: .giveBack(.init(wait: .seconds(9), givesAttemptBack: true))),
                FinishedJob(job: jobs[2], verdict: .giveBack(.init(wait: .seconds(9), givesAttemptBack: true))),
            ]
            let progress = ExchangeProgress()
            try await harness.pool.withTransaction { other in
                _ = try other.query(
                    "select id from accountctl.jobs where id = \(jobs[1].id) for update",
                    as: Int64.self
                )
                // The locked job comes before the other retry, which has its turn after the wait.
                try await harness.pool.withConnection { connection in
                    try Settlement(queue: harness.queue).write(finished, progress, on: connection)
                }
            }
            #expect(progress.written.landed == [jobs[0].leased, jobs[2].leased])
            #expect(progress.written.locked == [jobs[1].leased])
            #expect(try await harness.finished("completed") == 1)
        }
    }

    /// After a failover lease numbers repeat: an outcome from before it may have a higher number than one of the same
    /// job since.
    @Test func whatWasDoneBeforeAFailoverDoesNotHideWhatWasDoneSince() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try [JobHarness.plain.job(Note())])
            let (former, present) = (try await harness.host(), try await harness.host())
            var finished: [FinishedJob] = []
            for (worker, number) in [(former, 100), (present, 50)] {
                try await harness.execute("update accountctl.jobs set state = 'available', worker = null")
                _ = try await harness.count("select setval('accountctl.job_leases', \(number))")
                finished.append(FinishedJob(job: try await harness.claim(worker)[0], verdict: .end(.completed)))
            }
            let written = try await harness.write(finished)
            #expect(written.lost == [finished[0].job.leased])
            #expect(written.landed == [finished[1].job.leased])
        }
    }

    /// A worker that stops may have a hundred jobs to release, and two seconds for that: one statement releases all.
    @Test func whatIsReleasedIsReleasedTogether() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(3)
            #expect(try await harness.finish(jobs[0]))
            let written = try await harness.write(jobs.map { FinishedJob(job: $0, verdict: .release) })
            #expect(written.landed == [jobs[1].leased, jobs[2].leased])
            #expect(written.lost == [jobs[0].leased])
            #expect(written.hasGivenBack)
            #expect(try await harness.count("select count(distinct xmin::text) from accountctl.jobs") == 1)
            #expect(try await harness.count("select sum(attempt)::int from accountctl.jobs") == 0)
        }
    }

    /// A service that is down fails a hundred jobs at once, and each statement costs a round trip without a claim.
    @Test func whatGoesOnIsWrittenTogether() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(8)
            func failure(_ text: String) -> Verdict.Failure { .init(attempt: 1, error: text) }
            try await harness.execute(
                "update accountctl.jobs set run_at = clock_timestamp() where id = \(jobs[3].id)"
            )
            try await harness.execute("update accountctl.jobs set exhausted_at = now() where id = \(jobs[4].id)")
            try await harness.execute(
                "update accountctl.jobs set cancel_requested_at = now() where id = \(jobs[6].id)"
            )
            #expect(try await harness.finish(jobs[7]))
            let verdicts: [Verdict] = [
                .giveBack(.init(wait: .seconds(600), failure: failure("slow"), crashes: 2)),
                .giveBack(.init(wait: .seconds(60), failure: failure("odd"), isExhausted: true)),
                .giveBack(.init(givesAttemptBack: true)),
                .giveBack(.init(wait: .seconds(60))),
                .giveBack(.init(wait: .seconds(60), givesAttemptBack: true, isWell: true)),
                .park(reason: "newer", failure: failure("of a later release")),
                .giveBack(.init(wait: .seconds(60), failure: failure("late"))),
                .giveBack(.init(wait: .seconds(60))),
            ]
            let written = try await harness.write(zip(jobs, verdicts).map { FinishedJob(job: $0, verdict: $1) })
            #expect(written.landed == Set(jobs.prefix(7).map(\.leased)))
            #expect(written.lost == [jobs[7].leased])
            #expect(written.ended == [jobs[6].leased: JobQueue.Ending.Outcome.cancelled])
            #expect(written.hasGivenBack)
            let rows = try await harness.pool.withConnection { connection in
                try connection.query(
                    """
                    select state::text,
                        attempt,
                        crashes,
                        exhausted_at is not null,
                        coalesce(parked_for, ''),
                        coalesce(errors -> -1 ->> 'error', ''),
                        round(extract(epoch from run_at - clock_timestamp()) / 60)::int
                    from accountctl.jobs
                    order by id
                    """,
                    as: (String, Int16, Int16, Bool, String, String, Int32).self
                )
            }
            let told = rows.map { "\($0.0) \($0.1) \($0.2) \($0.3) \($0.4) \($0.5) \($0.6)" }
            #expect(
                told == [
                    "scheduled 1 2 false  slow 10", "scheduled 1 0 true  odd 1", "available 0 0 false   0",
                    "available 1 0 false   0", "scheduled 0 0 false   1", "parked 0 0 false newer of a later release 0",
                ]
            )
            // One transaction, and so one statement, wrote all of them.
            #expect(try await harness.count("select count(distinct xmin::text) from accountctl.jobs") == 1)
            let error: Statement = """
                select errors -> -1 ->> 'error'
                from accountctl.job_history
                where id = \(jobs[6].id)
                """
            #expect(try await harness.pool.withConnection { try $0.one(error, as: String.self) } == "late")
        }
    }

    /// Reasons, errors and outputs of jobs that end alike are each kept with their own job.
    @Test func whatEndsAlikeIsWrittenTogether() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(4)
            let verdicts: [Verdict] = [
                .end(.discarded, reason: "a", failure: .init(attempt: 1, error: "x")),
                .end(.discarded, reason: "b"),
                .end(.cancelled, reason: "c"),
                .end(.discarded, reason: "d", failure: .init(attempt: 1, error: "y")),
            ]
            let written = try await harness.write(zip(jobs, verdicts).map { FinishedJob(job: $0, verdict: $1) })
            #expect(written.landed == Set(jobs.map(\.leased)))
            let ended = try await harness.pool.withConnection { connection in
                try connection.query(
                    """
                    select concat_ws(' ', outcome, reason, errors -> -1 ->> 'error', jsonb_array_length(errors))
                    from accountctl.job_history
                    order by id
                    """,
                    as: String.self
                )
            }
            #expect(ended == ["discarded a x 1", "discarded b", "cancelled c", "discarded d y 1"])
            #expect(
                try await harness.count(
                    "select count(distinct xmin::text) from accountctl.job_history where outcome = 'discarded'"
                ) == 1
            )
        }
    }

    /// One error text that the server cannot store fails its own job's write alone.
    @Test func aBadErrorSpoilsItselfOnly() async throws {
        try await JobHarness.with { harness in
            let (_, jobs) = try await harness.claimed(3)
            let finished = jobs.enumerated().map { index, job in
                let failure = Verdict.Failure(attempt: 1, error: index == 1 ? "a\u{0}" : "b")
                return FinishedJob(
                    job: job,
                    verdict: .giveBack(.init(wait: .seconds(60), failure: failure))
                )
            }
            let written = try await harness.write(finished)
            #expect(written.landed == Set(jobs.map(\.leased)))
            #expect(Set(written.mended.keys) == [jobs[1].leased])
            #expect(
                try await harness.count(
                    "select count(*) from accountctl.jobs where state = 'scheduled' and errors is not null"
                ) == 2
            )
        }
    }

    /// The server would refuse a wait that it cannot add to a time, and with it all later writes.
    @Test(arguments: [Duration.seconds(10_000_000_000_000), .seconds(-10_000_000_000_000)])
    func aWaitOutOfRangeKeepsNothingElseFromBeingWritten(_ wait: Duration) async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobHarness.plain) { note, context in
                if note.text == "odd", context.attempt == 1 { return .retry(after: wait, reason: "later") }
                return .completed()
            }
            try await harness.enqueue([JobHarness.plain.job(Note(text: "odd"))])
            try await harness.enqueue(try (0..<5).map { _ in try JobHarness.plain.job(Note()) })
            let isEver = wait < .zero
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.finished("completed") == (isEver ? 6 : 5) }
                guard !isEver else { return }
                try await harness.until {
                    try await harness.count("select count(*) from accountctl.jobs where state = 'scheduled'") == 1
                }
            }
        }
    }
}
