import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Outcomes that are written together do not spoil each other.
@Suite(.timeLimit(.minutes(5))) struct SettlementTests {
    /// One output that the server cannot store must not take the batch with it.
    @Test func aBadValueSpoilsItselfOnly() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<5).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            let jobs = try await harness.claim(worker, 5)
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

    /// What was written before a later part failed is told: written again it would look like a lost lease.
    @Test func aPartThatFailsLeavesTheOthersWritten() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<3).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            let jobs = try await harness.claim(worker, 3)
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

    /// At the end of a worker there may be a hundred of them, and two seconds.
    @Test func whatIsReleasedIsReleasedTogether() async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try (0..<3).map { _ in try JobHarness.plain.job(Note()) })
            let worker = try await harness.host()
            let jobs = try await harness.claim(worker, 3)
            #expect(try await harness.finish(jobs[0]))
            let written = try await harness.write(jobs.map { FinishedJob(job: $0, verdict: .release) })
            #expect(written.landed == [jobs[1].leased, jobs[2].leased])
            #expect(written.lost == [jobs[0].leased])
            #expect(written.hasGivenBack)
            #expect(try await harness.count("select sum(attempt)::int from accountctl.jobs") == 0)
        }
    }

    /// What no clock can be added to would be refused by the server, and with it all that is written after it.
    @Test(arguments: [Duration.seconds(10_000_000_000_000), .seconds(-10_000_000_000_000)])
    func aWaitOutOfRangeKeepsNothingElseFromBeingWritten(_ wait: Duration) async throws {
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(JobHarness.plain) { note, context in
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
