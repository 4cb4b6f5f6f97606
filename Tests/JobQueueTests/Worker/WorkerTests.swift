import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// What becomes of a job for each way in which its handler can end.
@Suite(.timeLimit(.minutes(5))) struct WorkerTests {
    static let plain = JobKind<Note>("test.plain", retry: .exponential(attempts: 3, base: .milliseconds(10)))

    @Test(arguments: [true, false]) func everyJobRunsOnceAndIsKept(isFused: Bool) async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { note, context in
                try await harness.effect(context, note.text)
                return .completed(output: try JobDocument(encoding: ["length": note.text.count]))
            }
            let jobs = try (0..<300).map { try Self.plain.job(Note(text: String(repeating: "x", count: $0 % 7))) }
            let enqueued = try await harness.enqueue(jobs)
            #expect(Set(enqueued.map(\.id)).count == 300)
            try await harness.worker(registry) { $0.fusesClaims = isFused }.runUntilIdle()
            #expect(try await harness.effects() == 300)
            #expect(try await harness.count("select count(distinct job) from public.effects") == 300)
            #expect(try await harness.finished("completed") == 300)
            #expect(try await harness.unfinished() == 0)
            let details = try #require(try await harness.show(enqueued[6].id))
            #expect(details.record.state == .completed)
            #expect(details.output?.json == #"{"length": 6}"#)
            #expect(details.record.attempt == 1)
        }
    }

    @Test func aFailureIsTriedAgainAndThenGivenUp() async throws {
        struct Odd: Error, CustomStringConvertible {
            let description = "odd\u{0}\u{1b}[31m"
        }
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { _, context in
                try await harness.effect(context)
                throw Odd()
            }
            let id = try await harness.enqueue([Self.plain.job(Note())])[0].id
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.effects() == 3)
            let details = try #require(try await harness.show(id))
            #expect(details.record.state == .discarded)
            #expect(details.record.reason == "odd  [31m")
            #expect(try await harness.count("select jsonb_array_length(errors) from accountctl.job_history") == 3)
        }
    }

    @Test func aKindWithoutLastAttemptIsNeverGivenUp() async throws {
        let kind = JobKind<Note>("test.erase", retry: .withoutLastAttempt(attempts: 2, base: .milliseconds(1)))
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, context in
                try await harness.effect(context)
                return .retry(reason: "no")
            }
            let id = try await harness.enqueue([kind.job(Note())])[0].id
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.show(id)?.record.exhaustedAt != nil }
            }
            let record = try #require(try await harness.show(id)?.record)
            #expect(record.state == .scheduled)
            #expect(record.attempt == 2)
            #expect(abs(record.runAt.timeIntervalSinceNow - 86_400) < 86_400 * 0.11)
        }
    }

    /// A snooze says that the cause is gone: from there the job has its usual attempts again.
    @Test func aSnoozeEndsTheAlarm() async throws {
        let kind = JobKind<Note>("test.erase", retry: .withoutLastAttempt(attempts: 2, base: .milliseconds(1)))
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, context in
                try await harness.effect(context)
                return try await harness.effects() < 3 ? .retry(reason: "no") : .snooze(until: context.now + 3600)
            }
            let id = try await harness.enqueue([kind.job(Note())])[0].id
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.show(id)?.record.exhaustedAt != nil }
                try await harness.execute("update accountctl.jobs set run_at = now()")
                try await harness.until { try await harness.show(id)?.record.exhaustedAt == nil }
            }
            let record = try #require(try await harness.show(id)?.record)
            #expect(record.state == .scheduled)
            #expect(record.attempt == 0)
        }
    }

    @Test func snoozeGivesTheAttemptBack() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { _, context in
                try await harness.effect(context, "\(context.attempt)")
                return try await harness.effects() < 5 ? .snooze(until: context.now) : .completed()
            }
            try await harness.enqueue([Self.plain.job(Note())])
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.effects() == 5)
            #expect(try await harness.count("select count(*) from public.effects where note <> '1'") == 0)
            #expect(try await harness.finished("completed") == 1)
        }
    }

    @Test func discardAndCancelKeepTheirReason() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { note, _ in
                note.text == "d" ? .discard(reason: "bad") : .cancelled(reason: "unwanted")
            }
            let ids = try await harness.enqueue([Self.plain.job(Note(text: "d")), Self.plain.job(Note(text: "c"))])
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.show(ids[0].id)?.record.reason == "bad")
            #expect(try await harness.show(ids[0].id)?.record.state == .discarded)
            #expect(try await harness.show(ids[1].id)?.record.reason == "unwanted")
            #expect(try await harness.show(ids[1].id)?.record.state == .cancelled)
        }
    }

    @Test func aJobEndsInItsHandlersTransaction() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { note, context in
                try await context.pool.withTransaction { connection in
                    try context.fence(on: connection)
                    try harness.effect(context.id, "in", on: connection)
                    try context.complete(output: try JobDocument(encoding: note), on: connection)
                    // The first attempt fails after it wrote the effect and the end: both are rolled back.
                    if context.attempt == 1 { throw JobQueueError(.notFound, "no") }
                }
                return .completedInTransaction
            }
            try await harness.enqueue([Self.plain.job(Note(text: "t"))])
            try await harness.withWorker(registry) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.effects() == 1)
            #expect(try await harness.finished("completed") == 1)
            #expect(try await harness.count("select attempt::int from accountctl.job_history") == 2)
        }
    }

    @Test func progressIsStored() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { _, context in
                try await context.setProgress(["done": 3])
                let seen = try await harness.show(context.id)?.progress?.json
                return .completed(output: try JobDocument(encoding: [seen]))
            }
            let id = try await harness.enqueue([Self.plain.job(Note())])[0].id
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.show(id)?.output?.json == #"["{\"done\": 3}"]"#)
        }
    }

    @Test func aTimeLimitStopsTheHandler() async throws {
        let kind = JobKind<Note>("test.slow", retry: .never, timeout: .milliseconds(50))
        try await JobHarness.with { harness in
            let registry = try JobRegistry(kind) { _, _ in
                try await Task.sleep(for: .seconds(3600))
                return .completed()
            }
            let id = try await harness.enqueue([kind.job(Note())])[0].id
            try await harness.worker(registry).runUntilIdle()
            let record = try #require(try await harness.show(id)?.record)
            #expect(record.state == .discarded)
            #expect(record.reason?.contains("did not end within") == true)
        }
    }

    @Test func prioritiesComeFirst() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { note, context in
                try await harness.effect(context, note.text)
                return .completed()
            }
            let order: [Int16] = [5, 9, 0, 5, 3, 0]
            try await harness.enqueue(try order.map { try Self.plain.job(Note(text: "\($0)"), priority: $0) })
            try await harness.worker(registry) { $0.slots = 1 }.runUntilIdle()
            let seen = try await harness.pool.withConnection { connection in
                try connection.one("select string_agg(note, '' order by id) from public.effects", as: String.self)
            }
            #expect(seen == "003559")
        }
    }

    @Test func cancelReachesWaitingAndRunningJobs() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { _, context in
                try await harness.effect(context)
                try await Task.sleep(for: .seconds(3600))
                return .completed()
            }
            let running = try await harness.enqueue([Self.plain.job(Note())])[0].id
            let waiting = try await harness.enqueue([Self.plain.job(Note(), runAt: .now + 3600)])[0].id
            let cancel = { @Sendable (id: Int64) in
                try await harness.pool.withConnection { connection in
                    try harness.queue.cancel(id, reason: "test", on: connection)
                }
            }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(8) }) {
                try await harness.until { try await harness.effects() == 1 }
                #expect(try await cancel(waiting) == .cancelled)
                #expect(try await cancel(running) == .requested)
                try await harness.until { try await harness.unfinished() == 0 }
                #expect(try await cancel(running) == .finished)
                #expect(try await cancel(4711) == .unknown)
            }
            #expect(try await harness.show(running)?.record.reason == "test")
            #expect(try await harness.show(waiting)?.record.reason == "test")
        }
    }

    @Test func pausedQueuesRest() async throws {
        try await JobHarness.with { harness in
            let registry = try harness.recording(Self.plain)
            try await harness.enqueue([Self.plain.job(Note())])
            try await harness.pool.withConnection { connection in
                try harness.queue.pause(queue: "default", reason: "test", on: connection)
            }
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.effects() == 0)
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.resume(queue: "default", on: connection)
            }
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.effects() == 1)
        }
    }

    @Test func operatorsBringJobsBack() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.plain) { _, context in
                try await harness.effect(context)
                return try await harness.effects() == 1 ? .discard(reason: "first") : .completed()
            }
            let id = try await harness.enqueue([Self.plain.job(Note(), uniqueKey: "u")])[0].id
            try await harness.worker(registry).runUntilIdle()
            let retry = { @Sendable (id: Int64) in
                try await harness.pool.withConnection { connection in try harness.queue.retry(id, on: connection) }
            }
            let newer = try await harness.enqueue([Self.plain.job(Note(), runAt: .now + 3600, uniqueKey: "u")])[0].id
            await #expect(throws: JobQueueError.self) { try await retry(id) }
            _ = try await harness.pool.withConnection { connection in
                try harness.queue.cancel(newer, reason: "way", on: connection)
            }
            #expect(try await retry(id) == "default")
            try await harness.worker(registry).runUntilIdle()
            #expect(try await harness.effects() == 2)
            #expect(try await harness.show(id)?.record.state == .completed)
            let error = await #expect(throws: JobQueueError.self) { try await retry(id) }
            #expect(error?.code == .wrongState)
        }
    }

    /// Handlers may hold every connection of their pool for longer than a lease lasts, without losing a lease.
    @Test func handlersThatHoldAllConnectionsCostNoLease() async throws {
        let kind = JobKind<Note>("test.greedy")
        try await JobHarness.with { harness in
            try await harness.database.withPool(maximumConnections: 2) { handlers in
                let registry = try JobRegistry(kind) { _, context in
                    try await handlers.withConnection { connection in
                        // Runs until the worker has sent heartbeats for longer than a lease.
                        let lasted: Statement = """
                            select beat_at > started_at + interval '10 seconds'
                            from accountctl.workers
                            where stopped_at is null
                            """
                        while try connection.one(lasted, as: Bool.self) == false {
                            try await Task.sleep(for: .milliseconds(10))
                        }
                    }
                    try await harness.effect(context)
                    return .completed()
                }
                try await harness.enqueue(try (0..<2).map { _ in try kind.job(Note()) })
                let worker = try harness.worker(registry, in: handlers, control: harness.pool) {
                    $0.leaseLifetime = .seconds(8)
                }
                try await worker.runUntilIdle()
            }
            #expect(try await harness.effects() == 2)
            #expect(
                try await harness.count("select count(*) from accountctl.job_history where attempt = 1 and crashes = 0")
                    == 2
            )
        }
    }
}
