import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that commit late sort below jobs claimed since, and are found all the same.
@Suite(.timeLimit(.minutes(5))) struct LateCommitTests {
    private static let kind = JobKind<Note>("test.plain")

    /// A job whose transaction began early and commits late is found while the worker stays busy.
    @Test func aLateCommitIsFound() async throws {
        let late = JobKind<Note>("test.plain")
        try await JobHarness.with { harness in
            let registry = try JobRegistry(late) { note, context in
                guard note.text != "late" else {
                    try await harness.effect(context, "late")
                    return .completed()
                }
                // Each job enqueues its successor: there are always more jobs than slots.
                if try await harness.count("select count(*) from public.effects") == 0 {
                    try await harness.enqueue([late.job(note)])
                }
                return .completed()
            }
            let worker = try harness.worker(registry) { $0.slots = 4 }
            let inserted = AsyncStream.makeStream(of: Void.self)
            let go = AsyncStream.makeStream(of: Void.self)
            async let committed: Void = harness.database.withConnection { connection in
                try await connection.transaction { connection in
                    try harness.queue.enqueue([late.job(Note(text: "late"))], on: connection)
                    inserted.continuation.finish()
                    for await _ in go.stream {}
                }
            }
            for await _ in inserted.stream {}
            try await harness.enqueue(try (0..<60).map { _ in try late.job(Note()) })
            try await harness.withWorker(worker) {
                try await harness.until { try await harness.finished("completed") > 200 }
                go.continuation.finish()
                try await harness.until { try await harness.effects() == 1 }
            }
            try await committed
        }
    }

    /// A job that was ready long before it commits is found although no other job comes.
    @Test func aLateCommitIsFoundFromWhereverClaimsBegin() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, _ in .completed() }
            let worker = try harness.worker(registry) { $0.pollInterval = .seconds(3600) }
            try await harness.withWorker(worker) {
                try await harness.until { worker.core.withLock { $0.worker } != nil }
                // Every full scan counts as costly.
                worker.core.withLock { $0.bounds = ClaimBounds(noticeable: .zero) }
                try await harness.enqueue([Self.kind.job(Note())])
                worker.wake()
                try await harness.until { try await harness.finished("completed") == 1 }
                try await harness.enqueue([Self.kind.job(Note(), runAt: .now.addingTimeInterval(-3600))])
                worker.wake()
                try await harness.until { try await harness.finished("completed") == 2 }
            }
        }
    }
}
