import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Old jobs under new releases, unknown kinds, schedules, retention.
@Suite(.timeLimit(.minutes(5))) struct ReleaseTests {
    struct Old: Codable, Sendable { var note: String }

    @Test func unknownAndUndecodableJobsDoNotStopOthers() async throws {
        let kind = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let registry = try harness.recording(kind)
            let unknown = try await harness.enqueue([NewJob(kind: "later", queue: "default")])[0].id
            let odd = try await harness.enqueue([
                NewJob(kind: "test.plain", queue: "default", arguments: .init(uncheckedJSON: #"{"text":7}"#)),
                NewJob(kind: "test.plain", queue: "default", argumentsVersion: 9),
            ])
            try await harness.enqueue(try (0..<10).map { _ in try kind.job(Note()) })
            let lines = LogLines()
            try await harness.worker(registry, logger: lines.logger).runUntilIdle()
            #expect(try await harness.effects() == 10)
            // Nothing else happens to a job that was set aside: it neither fails again nor ends.
            let told = lines.all.filter { $0.contains("set aside") }
            #expect(told.count == 1, "\(told)")
            #expect(told.first?.contains("text is not String job=\(odd[0].id)") == true, "\(told)")
            #expect(try await harness.show(unknown)?.record.state == .available)
            for (job, reason) in zip(odd, ["undecodable", "newer"]) {
                let record = try #require(try await harness.show(job.id)?.record)
                #expect(record.state == .parked)
                #expect(record.reason == reason)
                #expect(record.attempt == 0)
            }
        }
    }

    /// A release that reads version 2 without an upcast sets the job aside; the next one, which has the upcast, runs
    /// it.
    @Test func theNextReleaseRunsWhatTheLastSetAside() async throws {
        let before = JobKind<Old>("test.plain")
        let without = JobKind<Note>("test.plain", version: 2)
        let with = JobKind<Note>(
            "test.plain",
            version: 2,
            upcasts: [1: { try JobDocument(encoding: Note(text: try $0.decode(as: Old.self).note)) }]
        )
        try await JobHarness.with { harness in
            let run = { @Sendable (kind: JobKind<Note>) in
                let registry = try JobRegistry(kind) { note, context in
                    try await harness.effect(context, note.text)
                    return .completed()
                }
                try await harness.worker(registry).runUntilIdle()
            }
            try await harness.enqueue([before.job(Old(note: "hello"))])
            try await run(without)
            #expect(try await harness.count("select count(*) from accountctl.jobs where state = 'parked'") == 1)
            try await run(with)
            #expect(try await harness.count("select count(*) from public.effects where note = 'hello'") == 1)
        }
    }

    @Test func eachInstantOfAScheduleIsEnqueuedOnce() async throws {
        let kind = JobKind<Note>("test.periodic")
        let periodic = try PeriodicJob(
            name: "nightly",
            schedule: "30 2 * * *",
            zone: "Europe/Berlin",
            job: try kind.job(Note())
        )
        try await JobHarness.with(connections: 8) { harness in
            let rules = try await harness.pool.withConnection { connection in
                try harness.queue.zoneRules("Europe/Berlin", on: connection)
            }
            // The server's zone data and the rules derived from it agree for every hour.
            let differing = try await harness.pool.withConnection { connection in
                try connection.query(
                    """
                    select extract(epoch from day)::bigint,
                        extract(epoch from (day at time zone 'Europe/Berlin') - (day at time zone 'UTC'))::int
                    from generate_series(
                        date_trunc('hour', now()) - interval '401 days', now() + interval '500 days', interval '1 hour'
                    ) as day
                    """,
                    as: (Int64, Int32).self
                )
            }
            .filter { rules.offset(at: Int($0.0)) != Int($0.1) }
            #expect(differing.isEmpty)
            let end = Int(Date().timeIntervalSince1970)
            // Takes the last five instants: five days have four or six when the clocks change.
            let instants = Array(
                periodic.schedule.instants(after: end - 7 * 86_400, through: end, in: rules).suffix(5)
            )
            try #require(instants.count == 5)
            for instant in instants {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            _ = try await harness.pool.withConnection { connection in
                                try await harness.queue.enqueue(periodic, at: instant, on: connection)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            // The first instant was only recorded.
            #expect(try await harness.unfinished() == 4)
            // A worker that lags behind enqueues no past instant.
            let late = try await harness.pool.withConnection { connection in
                try await harness.queue.enqueue(periodic, at: instants[0] - 86_400, on: connection)
            }
            #expect(late == false)
            #expect(try await harness.unfinished() == 4)
        }
    }

    /// An instant in the future, recorded while a clock was wrong, does not block those of the present, and is forgotten
    /// with the next: when its time comes, it is enqueued again.
    @Test func anInstantOfTheFutureIsForgotten() async throws {
        let kind = JobKind<Note>("test.periodic")
        let periodic = try PeriodicJob(name: "often", schedule: "* * * * *", job: try kind.job(Note()))
        try await JobHarness.with { harness in
            let now = Int(Date().timeIntervalSince1970)
            let ours = try await harness.pool.withConnection { connection in
                for instant in [now - 3600, now + 86_400] {
                    _ = try await harness.queue.enqueue(periodic, at: instant, on: connection)
                }
                return try await harness.queue.enqueue(periodic, at: now, on: connection)
            }
            #expect(ours)
            let ahead: Statement =
                "select count(*) from accountctl.periodic_slots where slot > now() + interval '1 hour'"
            #expect(try await harness.count(ahead) == 0)
        }
    }

    /// Two schedule names that differ in the database, as somebody may insert them by hand, are equal in Swift.
    @Test func namesThatDifferInSpellingAloneAreOneSchedule() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                insert into accountctl.periodic_slots (name, slot)
                values ('caf\u{e9}', 'epoch'), ('cafe\u{301}', to_timestamp(60))
                """
            )
            let records = try await harness.pool.withConnection { try harness.queue.schedules([], on: $0) }
            #expect(records.map(\.last) == [Date(timeIntervalSince1970: 60)])
        }
    }

    @Test func aScheduleRunsInAWorker() async throws {
        let kind = JobKind<Note>("test.periodic")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, context in
                try await harness.effect(context)
                return .completed()
            }
            try registry.schedule(PeriodicJob(name: "often", schedule: "* * * * *", job: try kind.job(Note())))
            // As if the schedule had last run an hour ago: only the latest instant is made up for.
            try await harness.execute(
                "insert into accountctl.periodic_slots (name, slot) values ('often', date_trunc('minute', now()) - interval '1 hour')"
            )
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(1) }) {
                try await harness.until { try await harness.finished("completed") >= 1 }
            }
            #expect(try await harness.effects() <= 2)
        }
    }

    @Test func anUnknownZoneStopsTheStart() async throws {
        let kind = JobKind<Note>("test.periodic", limits: .init(running: 1))
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(kind) { _, _ in .completed() }
            try registry.schedule(
                PeriodicJob(name: "odd", schedule: "@daily", zone: "Mars/Olympus", job: try kind.job(Note()))
            )
            let worker = try harness.worker(registry)
            let error = await #expect(throws: JobQueueError.self) { try await worker.run() }
            #expect(error?.field == "zone")
            // A worker that never began leaves no row behind, and its code sets no limit.
            for table in ["workers", "job_limits", "periodic_slots", "jobs"] {
                #expect(try await harness.count("select count(*) from accountctl.\(unsafeSQL: table)") == 0, "\(table)")
            }
        }
    }

    @Test func historyIsKeptByDayAndDropped() async throws {
        try await JobHarness.with { harness in
            // The template may have been made the day before, and midnight may pass at any line: the day is read once.
            let today = try await harness.pool.withConnection {
                try $0.one("select (now() at time zone 'UTC')::date::text", as: String.self)
            }
            try await harness.execute("select accountctl.prepare_job_history(\(today)::date, 7)")
            let noon: Statement = "(\(today)::date + time '12:00') at time zone 'UTC'"
            try await harness.execute(
                """
                insert into accountctl.job_history
                    (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args,
                    finished_at)
                select n, n, now(), now(), 'completed'::accountctl.job_end, 5, 1, 0, 1, 'q', 'k', '{}'::jsonb,
                    \(noon) + n * interval '1 day'
                from generate_series(0, 9) n
                union all
                -- A row from a time when no worker ran; no partition is made for its day.
                select 99, 99, now(), now(), 'cancelled'::accountctl.job_end, 5, 1, 0, 1, 'q', 'k', '{}', now() - interval '90 days'
                """
            )
            #expect(try await harness.count("select count(*) from accountctl.job_history_default") == 4)
            try await harness.pool.withConnection { connection in
                try await harness.queue.keepHistory(retention: .seconds(14 * 86_400), on: connection)
            }
            try await harness.execute("select accountctl.prepare_job_history(\(today)::date, 10)")
            // The rows of the default partition moved to the partitions of their days.
            #expect(try await harness.count("select count(*) from accountctl.job_history_default") == 0)
            #expect(try await harness.count("select count(*) from accountctl.job_history") == 10)
            try await harness.execute("select accountctl.prune_job_history(\(noon) + interval '4 days', 100)")
            #expect(try await harness.count("select count(*) from accountctl.job_history") == 6)
        }
    }

    /// During a rolling deploy the old release may set a newer job aside; the new release, though it started long
    /// before, runs it.
    @Test func aNewerJobThatTheOldReleaseTookIsNotStranded() async throws {
        let new = JobKind<Note>("test.plain", version: 2)
        try await JobHarness.with { harness in
            let registry = try harness.recording(new)
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(1) }) {
                try await harness.enqueue([new.job(Note())])
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.execute(
                    """
                    insert into accountctl.jobs (kind, queue, args, args_version, state, parked_for)
                    values ('test.plain', 'default', '{"text": ""}', 3, 'parked', 'newer'),
                        ('test.plain', 'default', '{"text": ""}', 2, 'parked', 'newer')
                    """
                )
                try await harness.until { try await harness.finished("completed") == 2 }
                // The job of a still newer release stays.
                #expect(try await harness.unfinished() == 1)
            }
        }
    }

    /// A long read of the history delays the dropping of a day, and nothing else.
    @Test func aReaderOfTheHistoryDoesNotKeepPartitionsFromBeingMade() async throws {
        try await JobHarness.with { harness in
            try await harness.execute("select accountctl.prepare_job_history('2020-01-01', 1)")
            try await harness.execute(
                """
                insert into accountctl.job_history
                    (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args,
                    finished_at)
                values (1, 1, now(), now(), 'completed', 5, 1, 0, 1, 'q', 'k', '{}', now() - interval '3 days')
                """
            )
            try await harness.execute(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at, stopped_at, stop_reason)
                values ('old', '1', 1, '{}', '{}', now(), now() - interval '9 days', 'ended')
                """
            )
            try await harness.pool.withTransaction { reader in
                _ = try reader.one("select count(*) from accountctl.job_history_20200101", as: Int.self)
                await #expect(throws: PostgresError.self) {
                    try await harness.pool.withConnection { connection in
                        try await harness.queue.keepHistory(retention: .seconds(14 * 86_400), on: connection)
                    }
                }
            }
            #expect(
                try await harness.count("select count(*) from pg_class where relname = 'job_history_20200101'") == 1
            )
            #expect(try await harness.count("select count(*) from accountctl.workers where name = 'old'") == 0)
            // A day that had a row but no partition got its partition.
            #expect(try await harness.count("select count(*) from accountctl.job_history_default") == 0)
            try await harness.pool.withConnection { connection in
                try await harness.queue.keepHistory(retention: .seconds(14 * 86_400), on: connection)
            }
            #expect(
                try await harness.count("select count(*) from pg_class where relname = 'job_history_20200101'") == 0
            )
        }
    }
}
