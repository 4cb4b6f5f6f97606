import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// A shop as an app developer would write it who has read only the doc comments of the queue.
@Suite(.timeLimit(.minutes(5))) struct AdoptionTests {
    private struct Parcel: Codable, Sendable {
        var order: Int64
        var carrier: String
    }

    /// The parcel of the previous release.
    private struct OldParcel: Codable, Sendable {
        var order: Int64
    }

    private static let parcel = JobKind<Parcel>(
        "shop.parcel",
        queue: "shop",
        version: 2,
        limits: .init(running: 10, runningPerKey: 1),
        upcasts: [
            1: { document in
                let old = try document.decode(as: OldParcel.self)
                return try JobDocument(encoding: Parcel(order: old.order, carrier: "post"))
            }
        ]
    )
    private static let oldParcel = JobKind<OldParcel>("shop.parcel", queue: "shop")
    private static let reminder = JobKind<NoArguments>("shop.reminder", queue: "shop")

    /// Sends a parcel in one transaction: the order has a carrier if and only if the job is done.
    private static func send(_ parcel: Parcel, _ context: JobContext) async throws -> JobOutcome {
        try await context.pool.withTransaction { connection in
            try connection.execute("update public.orders set carrier = \(parcel.carrier) where id = \(parcel.order)")
            let label = try JobDocument(encoding: ["label": "\(parcel.carrier) \(parcel.order)"])
            try context.complete(output: label, on: connection)
        }
        return .completedInTransaction
    }

    private struct Reminded: Codable, Sendable, Equatable {
        var rounds = 0
    }

    /// Reminds in two rounds, the second of which knows of the first by the job's progress.
    private static func remind(_: NoArguments, _ context: JobContext) async throws -> JobOutcome {
        let progress = try await context.pool.withTransaction { connection in
            var progress =
                try JobQueue().show(context.id, on: connection)?.progress?.decode(as: Reminded.self) ?? Reminded()
            progress.rounds += 1
            try connection.execute("update public.orders set reminders = reminders + 1")
            try context.setProgress(progress, on: connection)
            return progress
        }
        return progress.rounds < 2 ? .snooze(until: context.now) : .completed()
    }

    private static func daily() throws -> PeriodicJob {
        try PeriodicJob(
            name: "shop.reminder",
            schedule: "0 6 * * *",
            zone: "Europe/Berlin",
            job: reminder.job(NoArguments(), uniqueKey: "shop.reminder")
        )
    }

    /// Creates the shop's table with one order, and a worker for the shop's jobs.
    private static func withShop(_ body: @Sendable (JobHarness, Worker) async throws -> Void) async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                "create table public.orders (id bigint primary key, carrier text, reminders int not null default 0)"
            )
            try await harness.execute("insert into public.orders (id) values (1)")
            var registry = JobRegistry()
            try registry.register(parcel, handler: send)
            try registry.register(reminder, handler: remind)
            try registry.schedule(daily())
            let worker = try Worker(
                queue: harness.queue,
                pool: harness.pool,
                listener: nil,
                registry: registry,
                configuration: WorkerConfiguration(name: "shop"),
                logger: harness.logger
            )
            try await body(harness, worker)
        }
    }

    @Test func whatIsOrderedIsSentAndNothingElse() async throws {
        try await Self.withShop { harness, worker in
            let job = try await harness.pool.withTransaction { connection in
                try connection.execute("insert into public.orders (id) values (7)")
                let parcel = try Self.parcel.job(Parcel(order: 7, carrier: "swallow"))
                return try harness.queue.enqueue([parcel], on: connection)[0]
            }
            // The transaction is rolled back: neither the order nor the job exists.
            await #expect(throws: CancellationError.self) {
                try await harness.pool.withTransaction { connection in
                    try connection.execute("insert into public.orders (id) values (8)")
                    try harness.queue.enqueue([Self.parcel.job(Parcel(order: 8, carrier: "dove"))], on: connection)
                    throw CancellationError()
                }
            }
            try await worker.runUntilIdle()
            let sent = try await harness.database.psql("select id, carrier from public.orders where id > 1")
            #expect(sent == "7|swallow")
            let done = try #require(try await harness.show(job.id))
            #expect(done.record.state == .completed)
            let output = try done.output?.decode(as: [String: String].self)
            #expect(output == ["label": "swallow 7"])
        }
    }

    @Test func manyAreAddedAtOnceAndNoneTwice() async throws {
        try await Self.withShop { harness, worker in
            try await harness.execute("insert into public.orders (id) select n from generate_series(2, 50) as n")
            let jobs = try (Int64(1)...50).map { order in
                try Self.parcel.job(
                    Parcel(order: order, carrier: "post"),
                    uniqueKey: "parcel \(order)",
                    limitKey: "customer \(order % 5)"
                )
            }
            let added = try await harness.queue.enqueue(jobs, in: harness.pool)
            let again = try await harness.queue.enqueue(jobs, in: harness.pool)
            #expect(!added.map(\.isNew).contains(false))
            #expect(!again.map(\.isNew).contains(true))
            #expect(again.map(\.id) == added.map(\.id))
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            #expect(try await harness.count("select count(*) from public.orders where carrier = 'post'") == 50)
            let limits = try await harness.pool.withConnection { try harness.queue.kindLimits(on: $0) }
            #expect(limits.map(\.kind) == ["shop.parcel"])
            #expect(limits.map(\.running) == [10])
            #expect(limits.map(\.runningPerKey) == [1])
        }
    }

    /// The previous release enqueued the job, and knew no carrier.
    @Test func whatAnOlderReleaseEnqueuedIsSent() async throws {
        try await Self.withShop { harness, worker in
            try await harness.enqueue([Self.oldParcel.job(OldParcel(order: 1))])
            try await worker.runUntilIdle()
            #expect(try await harness.database.psql("select carrier from public.orders") == "post")
        }
    }

    @Test func oneGoesOnFromWhereItWasAndOneOfTomorrowIsCancelled() async throws {
        try await Self.withShop { harness, worker in
            let ids = try await harness.enqueue([
                Self.reminder.job(NoArguments()), Self.reminder.job(NoArguments(), runAt: .now + 86_400),
            ])
            .map(\.id)
            try await worker.runUntilIdle()
            let done = try #require(try await harness.show(ids[0]))
            #expect(done.record.state == .completed)
            #expect(done.record.attempt == 1)
            let progress = try done.progress?.decode(as: Reminded.self)
            #expect(progress == Reminded(rounds: 2))
            #expect(try await harness.database.psql("select reminders from public.orders") == "2")
            let result = try await harness.pool.withConnection { connection in
                try harness.queue.cancel(ids[1], reason: "the shop is closed", on: connection)
            }
            #expect(result == .cancelled)
            #expect(try await harness.show(ids[1])?.record.reason == "the shop is closed")
        }
    }

    /// Instants from before the schedule was first seen are not made up for.
    @Test func aScheduleBeginsWithItsNextInstant() async throws {
        try await Self.withShop { harness, worker in
            try await worker.runUntilIdle()
            let schedules = try await harness.pool.withConnection { connection in
                try harness.queue.schedules([Self.daily()], on: connection)
            }
            let daily = try #require(schedules.first)
            #expect(daily.kind == Self.reminder.name)
            #expect(daily.last != nil && daily.job == nil)
            let next = try #require(daily.next)
            #expect(next.timeIntervalSinceNow > -60)
            #expect(try await harness.unfinished() == 0)
        }
    }
}
