import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// A session that holds an old snapshot keeps every dead row in the way: claims must not walk over them.
@Suite(.timeLimit(.minutes(1))) struct PinnedSnapshotTests {
    static let kind = JobKind<Note>("test.plain")
    static let lanes = [Lane(queue: "default", kind: "test.plain", timeout: .seconds(60))]

    /// The pages that a claim of ten touches, told by running it and undoing it.
    private func pages(
        _ queue: JobQueue,
        _ request: JobQueue.ClaimRequest,
        on connection: isolated Connection
    ) async throws -> Int {
        struct Undo: Error {}
        var lines: [String] = []
        do {
            try await connection.transaction { connection in
                lines = try connection.query(
                    "explain (analyze, buffers, timing off, costs off) \(queue.claimStatement(Self.lanes, request))",
                    as: String.self
                )
                throw Undo()
            }
        } catch is Undo {}
        let line = lines.first { $0.contains("Buffers:") } ?? ""
        return line.split(whereSeparator: { $0 == " " || $0 == "=" }).compactMap { Int($0) }.reduce(0, +)
    }

    @Test func claimsStayCheapBehindAnOldSnapshot() async throws {
        try await JobHarness.with { harness in
            let queue = harness.queue
            try await harness.database.withConnection { pinning in
                try await pinning.transaction(isolation: .repeatableRead) { pinning in
                    _ = try pinning.one("select count(*) from accountctl.jobs", as: Int.self)
                    try await harness.pool.withConnection { connection in
                        let worker = try queue.register(
                            .init(
                                name: "t",
                                version: "1",
                                slots: 9,
                                lanes: Self.lanes,
                                limits: [],
                                lifetime: .seconds(600)
                            ),
                            on: connection
                        ).id
                        // Without the full scan of each second, whose cost is not the point here.
                        var bounds = ClaimBounds(fullScanInterval: .seconds(3600))
                        let hundred = try (0..<100).map { _ in try Self.kind.job(Note()) }
                        for _ in 0..<3 { try queue.enqueue(hundred, on: connection) }
                        for _ in 0..<200 {
                            try queue.enqueue(hundred, on: connection)
                            let known = bounds.bounds(now: .now)
                            let jobs = try queue.claim(
                                Self.lanes,
                                .init(worker: worker, limit: 100, bounds: known),
                                on: connection
                            )
                            #expect(jobs.count == 100)
                            bounds.claimed(jobs, isFull: true, wasBounded: known != nil, now: .now)
                            let ended = try queue.finish(
                                .init(outcome: .completed, ids: jobs.map(\.id), leases: jobs.map(\.lease)),
                                on: connection
                            )
                            #expect(ended.count == 100)
                        }
                        let known = bounds.bounds(now: .now)
                        #expect(known != nil)
                        let near = try await pages(
                            queue,
                            .init(worker: worker, limit: 10, bounds: known),
                            on: connection
                        )
                        let far = try await pages(queue, .init(worker: worker, limit: 10), on: connection)
                        // The snapshot does hold the dead rows: a claim from the start meets them all.
                        #expect(near * 2 < far, "a bounded claim touched \(near) pages, one from the start \(far)")
                    }
                }
            }
        }
    }

    /// A job whose transaction began early and committed late lies below what was claimed since, and is found all the same.
    @Test func aLateCommitIsFound() async throws {
        let late = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            var registry = JobRegistry()
            try registry.register(late) { note, context in
                guard note.text != "late" else {
                    try await harness.effect(context, "late")
                    return .completed()
                }
                // Each makes its successor: there is always more than the worker has slots.
                if try await harness.count("select count(*) from public.effects") == 0 {
                    try await harness.enqueue([late.job(note)])
                }
                return .completed()
            }
            let worker = try harness.worker(registry) { $0.slots = 4 }
            let inserted = AsyncStream.makeStream(of: Void.self)
            let go = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await harness.database.withConnection { connection in
                        try await connection.transaction { connection in
                            try harness.queue.enqueue([late.job(Note(text: "late"))], on: connection)
                            inserted.continuation.finish()
                            for await _ in go.stream {}
                        }
                    }
                }
                for await _ in inserted.stream {}
                try await harness.enqueue(try (0..<60).map { _ in try late.job(Note()) })
                group.addTask { try await worker.run() }
                try await harness.until { try await harness.finished("completed") > 200 }
                go.continuation.finish()
                try await harness.until { try await harness.effects() == 1 }
                group.cancelAll()
            }
        }
    }
}
