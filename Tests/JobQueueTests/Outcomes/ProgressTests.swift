import Foundation
import JobQueue
import Postgres
import Testing

/// The progress that a handler stored stays with its job: into the history, and back from there.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
    private static let kind = JobKind<Note>("test.progress", retry: .never)

    private struct Step: Codable, Sendable, Equatable {
        var done = 0
    }

    /// Stores progress, then ends as the job's note says.
    private static func ending(_ note: Note, _ context: JobContext) async throws -> JobOutcome {
        try await context.setProgress(Step(done: 3))
        switch note.text {
        case "completed": return .completed(output: try JobDocument(encoding: note))
        case "in its own transaction":
            try await context.pool.withTransaction { try context.complete(on: $0) }
            return .completedInTransaction
        case "cancelled": return .cancelled(reason: note.text)
        case "discarded": return .discard(reason: note.text)
        default: throw JobQueueError(.notFound, "failed")
        }
    }

    /// The progress is kept however the handler ends the job, in one statement with the next claim or not.
    @Test(arguments: [true, false]) func anEndedJobKeepsItsProgress(isFused: Bool) async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind, handler: Self.ending)
            let ends = ["completed", "in its own transaction", "cancelled", "discarded", "failed"]
            // One slot, so that each end shares an exchange with the next claim.
            let notes = (0..<20).map { Note(text: ends[$0 % ends.count]) }
            let jobs = try await harness.enqueue(try notes.map { try Self.kind.job($0) })
            try await harness.worker(registry) {
                $0.slots = 1
                $0.fusesClaims = isFused
            }
            .runUntilIdle()
            for (job, note) in zip(jobs, notes) {
                let shown = try #require(try await harness.show(job.id))
                #expect(shown.record.finishedAt != nil, "\(note)")
                #expect(shown.progress?.json == #"{"done": 3}"#, "\(note)")
                #expect((shown.output != nil) == (note.text == "completed"), "\(note)")
            }
        }
    }

    /// The progress is also kept when an operator ends a waiting job, and when a job's process died too often.
    @Test func whatEndsWithoutItsHandlerKeepsItsProgress() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            let jobs = try await harness.enqueue(try (0..<4).map { _ in try Self.kind.job(Note()) })
            // As in jobs that were given back.
            try await harness.execute("update accountctl.jobs set progress = '{\"done\": 7}' where id <> \(jobs[3].id)")
            try await harness.execute("update accountctl.jobs set crashes = 3 where id = \(jobs[2].id)")
            try await harness.pool.withConnection { connection in
                #expect(try harness.queue.cancel(jobs[0].id, reason: nil, on: connection) == .cancelled)
                try harness.queue.discard(jobs[1].id, reason: "unwanted", on: connection)
            }
            try await harness.worker(registry).runUntilIdle()
            for (job, state) in zip(jobs, [JobState.cancelled, .discarded, .discarded]) {
                let shown = try #require(try await harness.show(job.id))
                #expect(shown.record.state == state)
                #expect(shown.progress?.json == #"{"done": 7}"#, "\(state)")
            }
            // A job that stored no progress has none.
            let silent = try #require(try await harness.show(jobs[3].id))
            #expect(silent.record.state == .completed && silent.progress == nil)
        }
    }

    @Test(arguments: ["cancelled", "discarded", "failed"]) func aRetriedJobGoesOnFromWhereItWas(
        end: String
    ) async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { note, context in
                let before = try await harness.show(context.id)?.progress?.decode(as: Step.self)
                guard let before else { return try await Self.ending(note, context) }
                return .completed(output: try JobDocument(encoding: before))
            }
            let id = try await harness.enqueue([Self.kind.job(Note(text: end))])[0].id
            try await harness.worker(registry).runUntilIdle()
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.retry(id, on: connection)
            }
            #expect(try await harness.show(id)?.progress?.json == #"{"done": 3}"#)
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.show(id)?.record.state == .completed)
            #expect(try await harness.show(id)?.output?.json == #"{"done": 3}"#)
            #expect(try await harness.show(id)?.progress?.json == #"{"done": 3}"#)
        }
    }

    /// During a rolling deploy jobs are ended by the statement of the previous release, which does not know the column.
    @Test func whatAnOlderReleaseEndedComesBackWithoutProgress() async throws {
        try await JobHarness.with { harness in
            let id = try await harness.enqueue([Self.kind.job(Note())])[0].id
            try await harness.execute(
                """
                with ended as (
                    delete from accountctl.jobs
                    where id = \(id)
                    returning *
                )
                insert into accountctl.job_history (
                    id, lease, worker, run_at, created_at, claimed_at, outcome, priority, attempt, crashes, max_attempts,
                    args_version, queue, kind, unique_key, limit_key, reason, args, output, errors
                )
                select
                    id, lease, worker, run_at, created_at, claimed_at, 'discarded'::accountctl.job_end,
                    priority, attempt, crashes, max_attempts, args_version, queue, kind, unique_key, limit_key,
                    'given up', args, null, errors
                from ended
                """
            )
            let ended = try #require(try await harness.show(id))
            #expect(ended.record.state == .discarded && ended.progress == nil)
            try await harness.pool.withConnection { connection in
                _ = try harness.queue.retry(id, on: connection)
            }
            let revived = try #require(try await harness.show(id))
            #expect(revived.record.state == .available && revived.progress == nil)
        }
    }
}
