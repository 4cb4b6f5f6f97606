import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// How jobs get into the table, from Swift and from SQL.
@Suite(.timeLimit(.minutes(5))) struct EnqueueTests {
    static let kind = JobKind<Note>("test.plain")

    @Test func aJobExistsWithItsTransaction() async throws {
        struct Abandoned: Error {}
        try await JobHarness.with { harness in
            await #expect(throws: Abandoned.self) {
                try await harness.pool.withTransaction { connection in
                    _ = try harness.queue.enqueue([Self.kind.job(Note())], on: connection)
                    throw Abandoned()
                }
            }
            let left = try await harness.unfinished()
            #expect(left == 0)
        }
    }

    @Test func everyColumnArrives() async throws {
        try await JobHarness.with { harness in
            let later = Date(timeIntervalSince1970: 4_000_000_000)
            let jobs = [
                try Self.kind.job(Note(text: "ä\"\\"), runAt: later, priority: 2, uniqueKey: "u", maxAttempts: 7),
                try NewJob(kind: "other", queue: "apple", argumentsVersion: 3, priority: 9, limitKey: "l"),
            ]
            let ids = try await harness.enqueue(jobs)
            let first = try #require(try await harness.show(ids[0].id))
            #expect(first.record.state == .scheduled)
            #expect(first.record.runAt == later)
            #expect(first.record.priority == 2)
            #expect(first.record.uniqueKey == "u")
            #expect(try first.arguments.decode(as: Note.self) == Note(text: "ä\"\\"))
            let second = try #require(try await harness.show(ids[1].id))
            #expect(second.record.state == .available)
            #expect(second.record.queue == "apple")
            #expect(second.record.limitKey == "l")
            #expect(second.argumentsVersion == 3)
        }
    }

    @Test func uniqueKeysHoldWithinAndBetweenBatches() async throws {
        try await JobHarness.with { harness in
            let keys = ["b", "a", "b", "c", "a"]
            let first = try await harness.enqueue(try keys.map { try Self.kind.job(Note(), uniqueKey: $0) })
            #expect(first.map(\.isNew) == [true, true, false, true, false])
            #expect(first[0].id == first[2].id)
            #expect(first[1].id == first[4].id)
            let second = try await harness.enqueue([
                Self.kind.job(Note()), Self.kind.job(Note(), uniqueKey: "c"), Self.kind.job(Note(), uniqueKey: "d"),
            ])
            #expect(second.map(\.isNew) == [true, false, true])
            #expect(second[1].id == first[3].id)
            #expect(try await harness.unfinished() == 5)
        }
    }

    /// Two spellings of one character are equal in Swift and different in the database.
    @Test func spellingsOfOneCharacterAreTwoKeysAndTwoArguments() async throws {
        try await JobHarness.with { harness in
            let spellings = ["caf\u{E9}", "cafe\u{301}"]
            let keyed = try await harness.enqueue(try spellings.map { try Self.kind.job(Note(), uniqueKey: $0) })
            #expect(keyed.map(\.isNew) == [true, true])
            let again = try await harness.enqueue(try spellings.map { try Self.kind.job(Note(), uniqueKey: $0) })
            #expect(again == keyed.map { EnqueuedJob(id: $0.id, isNew: false) })
            let told = try await harness.enqueue(
                try spellings.map {
                    let arguments = try JobDocument(object: "{\"n\":\"\($0)\"}")
                    return try NewJob(kind: Self.kind.name, queue: "default", arguments: arguments)
                }
            )
            let lengths = try await harness.pool.withConnection { connection in
                try connection.query(
                    "select length(args ->> 'n') from accountctl.jobs where id = any(\(told.map(\.id))) order by id",
                    as: Int32.self
                )
            }
            #expect(lengths == [4, 5])
        }
    }

    /// A unique key is free once its job has ended, however it ended.
    @Test(arguments: [JobQueue.Ending.Outcome.completed, .cancelled, .discarded])
    func aKeyIsFreeOnceItsJobHasEnded(_ outcome: JobQueue.Ending.Outcome) async throws {
        try await JobHarness.with { harness in
            let lane = Lane(queue: "default", kind: Self.kind.name, timeout: .seconds(60))
            let worker = try await harness.pool.withConnection { connection in
                try harness.queue.addWorker([lane], on: connection)
            }
            var ids: Set<Int64> = []
            for _ in 0..<2 {
                let job = try await harness.enqueue([Self.kind.job(Note(), uniqueKey: "a")])[0]
                #expect(job.isNew)
                ids.insert(job.id)
                #expect(try await harness.enqueue([Self.kind.job(Note(), uniqueKey: "a")])[0].isNew == false)
                let (held, landed) = try await harness.pool.withConnection { connection in
                    let held = try harness.queue.claim([lane], .init(worker: worker, limit: 1), on: connection)
                        .map(\.leased)
                    return (held, try harness.queue.finish(.init(outcome: outcome, jobs: held), on: connection))
                }
                #expect(held.map(\.id) == [job.id])
                #expect(landed == Set(held))
            }
            #expect(ids.count == 2)
        }
    }

    /// A hundred callers enqueue one key at once: the winner rolls back, and exactly one other must get the key.
    @Test func theWinnerOfAUniqueKeyRollsBack() async throws {
        try await JobHarness.with(connections: 101) { harness in
            let (queue, job) = (harness.queue, try Self.kind.job(Note(), uniqueKey: "k"))
            let connected = AsyncStream.makeStream(of: Void.self)
            let start = AsyncStream.makeStream(of: Void.self)
            let won = AsyncStream.makeStream(of: Void.self)
            let go = AsyncStream.makeStream(of: Void.self)
            struct RolledBack: Error {}
            try await withThrowingTaskGroup(of: Bool.self) { group in
                // All connections are open before the first waits for the row.
                for _ in 0..<100 {
                    group.addTask {
                        try await harness.pool.withConnection { connection in
                            connected.continuation.yield()
                            for await _ in start.stream {}
                            return try await connection.transaction { connection in
                                try connection.execute("set local lock_timeout = 0")
                                return try queue.enqueue([job], on: connection)[0].isNew
                            }
                        }
                    }
                }
                var count = 0
                for await _ in connected.stream {
                    count += 1
                    if count == 100 { break }
                }
                group.addTask {
                    do {
                        try await harness.pool.withTransaction { connection in
                            #expect(try queue.enqueue([job], on: connection)[0].isNew)
                            won.continuation.finish()
                            for await _ in go.stream {}
                            throw RolledBack()
                        }
                    } catch is RolledBack {}
                    return false
                }
                for await _ in won.stream {}
                start.continuation.finish()
                // All of them wait for the winner's row.
                try await harness.database.waitUntilBlocked(sessions: 100)
                go.continuation.finish()
                var winners = 0
                for try await isNew in group where isNew { winners += 1 }
                #expect(winners == 1)
            }
            #expect(try await harness.unfinished() == 1)
        }
    }

    /// Many connections enqueue the same keys in different orders: the engine sorts them, so that no deadlock occurs.
    @Test(arguments: [false, true]) func keysInAnyOrderDoNotDeadlock(forgetting: Bool) async throws {
        try await JobHarness.with(connections: 8) { harness in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<40 {
                    group.addTask {
                        let keys = (0..<20).map { "key-\($0)" }.shuffled()
                        let jobs = try keys.map { try Self.kind.job(Note(text: "\(round)"), uniqueKey: $0) }
                        try await harness.pool.withTransaction { connection in
                            if forgetting {
                                try harness.queue.enqueueAndForget(jobs, on: connection)
                            } else {
                                try harness.queue.enqueue(jobs, on: connection)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await harness.unfinished() == 20)
        }
    }

    @Test func sqlEnqueuesTheSame() async throws {
        try await JobHarness.with { harness in
            let ids = try await harness.pool.withConnection { connection in
                try connection.one(
                    """
                    select accountctl.enqueue_job('test.plain', '{"text":"sql"}', unique_key => 'u'),
                        accountctl.enqueue_job('test.plain', unique_key => 'u'),
                        accountctl.enqueue_job('test.plain', run_at => now() + interval '1 hour')
                    """,
                    as: (Int64, Int64, Int64).self
                )
            }
            #expect(ids.0 == ids.1)
            #expect(try await harness.show(ids.0)?.record.state == .available)
            #expect(try await harness.show(ids.2)?.record.state == .scheduled)
        }
    }

    @Test(arguments: [
        ("kind", "'Bad'"), ("kind", "null"), ("queue", "'k', queue => 'no queue'"), ("args", "'k', args => '[]'"),
        ("args", "'k', args => jsonb_build_object('a', repeat('x', 300000))"),
        ("priority", "'k', priority => 10::smallint"),
        ("run_at", "'k', run_at => now() + interval '20 years'"),
    ])
    func sqlRefusesBadInputNamingTheField(_ field: String, _ arguments: String) async throws {
        try await JobHarness.with { harness in
            let error = await #expect(throws: PostgresError.self) {
                try await harness.execute("select accountctl.enqueue_job(\(unsafeSQL: arguments))")
            }
            #expect(error?.sqlState?.rawValue == "22023")
            #expect(error?.diagnostics?.column == field)
            let left = try await harness.unfinished()
            #expect(left == 0)
        }
    }

    @Test func operationsRefuseBadInput() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            func field(_ body: @Sendable (isolated Connection) async throws -> Void) async throws -> String? {
                do {
                    try await harness.pool.withConnection(body)
                    return nil
                } catch let error as JobQueueError {
                    return error.field
                }
            }
            var found: [String?] = []
            found.append(try await field { connection in try queue.pause(queue: "A", reason: nil, on: connection) })
            found.append(try await field { connection in _ = try queue.resume(queue: "", on: connection) })
            found.append(
                try await field { connection in try queue.limitRate(queue: "q", to: (0, .seconds(1)), on: connection) }
            )
            found.append(
                try await field { connection in try queue.limitRate(queue: "q", to: (1, .seconds(-1)), on: connection) }
            )
            found.append(
                try await field { connection in try queue.limitRate(queue: "q", to: (1, .seconds(1e9)), on: connection)
                }
            )
            found.append(
                try await field { connection in _ = try queue.oldDays(olderThan: .seconds(-1), on: connection) }
            )
            found.append(try await field { connection in _ = try queue.zoneRules("Mars/Olympus", on: connection) })
            found.append(try await field { connection in _ = try queue.zoneRules("XYZ+5", on: connection) })
            #expect(found == ["queue", "queue", "rate", "period", "period", "age", "zone", "zone"])
            #expect(try await harness.count("select count(*) from accountctl.queues") == 0)
        }
    }

    /// A copy of the tables without their sequences makes ids collide: the error does not blame the arguments.
    @Test func aNumberThatIsTakenIsNoFaultOfTheArguments() async throws {
        try await JobHarness.with { harness in
            let kind = JobHarness.plain
            let id = try await harness.enqueue([kind.job(Note())])[0].id
            for jobs in [[try kind.job(Note())], try (0..<3).map { _ in try kind.job(Note()) }] {
                try await harness.database.psql(
                    "select setval(pg_get_serial_sequence('accountctl.jobs', 'id'), \(id), false)"
                )
                let error = try await PostgresError.expected { try await harness.enqueue(jobs) }
                #expect(error.sqlState == .uniqueViolation)
            }
            #expect(try await harness.unfinished() == 1)
        }
    }
}
