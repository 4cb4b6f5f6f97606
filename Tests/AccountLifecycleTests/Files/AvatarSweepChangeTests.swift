import AccountLifecycle
import Foundation
import ObjectStorage
import Postgres
import Sandbox
import Synchronization
import TestSupport
import Testing

/// A sweep respects changes between reading an object and deleting it, when it may read thousands of pages.
@Suite(.timeLimit(.minutes(5))) struct AvatarSweepChangeTests {
    private let sweep = AvatarSweep(before: Date(timeIntervalSinceNow: -86_400))

    /// Makes all objects old, and returns those that are left behind.
    private func leftovers(on stage: Stage) async throws -> [AvatarSweep.Leftover] {
        try await stage.sql("alter table storage.objects disable trigger user")
        try await stage.sql(
            "update storage.objects set created_at = now() - interval '60 days', updated_at = now() - interval '60 days'"
        )
        return try await stage.pool.withConnection { [sweep] connection in
            let names = try sweep.names(on: connection)
            return try sweep.next(after: nil, limit: StorageClient.largestBatch, except: names, on: connection)
                .leftovers
        }
    }

    /// Deletes the objects that were found, with a check that forbids nothing.
    private func deleteUnhindered(
        _ found: [AvatarSweep.Leftover],
        on stage: Stage
    ) async throws -> (asked: Int, stayed: Int) {
        try await sweep.delete(
            found,
            by: StorageGateway(stage.storage),
            pool: stage.pool,
            check: { _ in },
            record: { _, _ in }
        )
    }

    /// A call that Storage rejects is repeated only for objects that are still left behind, and none is recorded twice.
    @Test func whatIsInUseAgainBeforeTheCallIsRepeatedStays() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["1-named.png", "2-left.png"] { try await stage.upload(key, by: person) }
            let found = try await leftovers(on: stage)
            let gate = FaultGate()
            var fault = Fault.status(503).times(1)
            fault.gate = gate
            stage.sandbox.faults.set(fault, for: .storageDeleteMany)
            let recorded = Mutex<[String]>([])
            let delete = Task { [sweep] in
                try await sweep.delete(found, by: StorageGateway(stage.storage), pool: stage.pool, check: { _ in }) {
                    leftovers,
                    _ in
                    recorded.withLock { $0 += leftovers.map(\.key) }
                }
            }
            await gate.reached()
            try await stage.sql("update public.profiles set avatar_url = '1-named.png' where id = \(person.id)")
            gate.open()
            let (asked, stayed) = try await delete.value
            #expect(asked == 1 && stayed == 0)
            #expect(recorded.withLock(\.self) == ["1-named.png", "2-left.png"])
            let left = try await stage.value("select string_agg(name, ' ') from storage.objects", as: String.self)
            #expect(left == "1-named.png")
        }
    }

    /// An object in a versioned bucket gets a delete marker, as if its user deleted it, and is not found again.
    @Test func aBucketThatKeepsVersionsIsSweptOnce() async throws {
        try await Stage.with { stage in
            try await stage.keepVersions()
            let person = try await stage.signUp()
            try await stage.upload("1-left.png", by: person)
            let found = try await leftovers(on: stage)
            let (asked, stayed) = try await deleteUnhindered(found, on: stage)
            #expect(asked == 1 && stayed == 0)
            #expect(try await stage.count("select from storage.objects where is_delete_marker") == 1)
            #expect(try await leftovers(on: stage) == [])
        }
    }

    /// A rejected call is not repeated if an operator has stopped everything in the meantime.
    @Test func whatIsForbiddenBeforeTheCallIsRepeatedIsNotDone() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.upload("1-left.png", by: person)
            let found = try await leftovers(on: stage)
            stage.sandbox.faults.set(.status(503).times(1), for: .storageDeleteMany)
            let calls = Mutex(0)
            await #expect(throws: Forbidden.self) {
                try await sweep.delete(
                    found,
                    by: StorageGateway(stage.storage),
                    pool: stage.pool,
                    check: { _ in
                        let isSecond = calls.withLock { calls in
                            calls += 1
                            return calls == 2
                        }
                        if isSecond { throw Forbidden() }
                    },
                    record: { _, _ in }
                )
            }
            #expect(stage.sandbox.journal.count(.storageDeleteMany) == 1)
        }
    }

    private struct Forbidden: Error {}

    /// A rejected call counts its deletions, since a proxy may report an error although Storage has carried out the
    /// call.
    @Test func whatACallDidThatWasTurnedAwayIsCounted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for key in ["1-left.png", "2-left.png"] { try await stage.upload(key, by: person) }
            let found = try await leftovers(on: stage)
            stage.sandbox.faults.set(Fault(.status(503), effect: .before).times(1), for: .storageDeleteMany)
            let (asked, stayed) = try await deleteUnhindered(found, on: stage)
            #expect(asked == 2 && stayed == 0)
        }
    }

    @Test func whatIsInUseAgainOrHeldByNowStays() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let held = try await stage.signUp("berta")
            for key in ["1-anew.png", "2-named.png", "4-left.png"] { try await stage.upload(key, by: person) }
            try await stage.upload("3-held.png", by: held)
            let found = try await leftovers(on: stage)
            #expect(found.count == 4)
            try await stage.sql("update storage.objects set updated_at = now() where name = '1-anew.png'")
            try await stage.sql("update public.profiles set avatar_url = '2-named.png' where id = \(person.id)")
            _ = try await stage.pool.withConnection { try await stage.desk.hold(held.id, reason: "court", on: $0) }
            let recorded = Mutex(0)
            let (asked, stayed) = try await sweep.delete(
                found,
                by: StorageGateway(stage.storage),
                pool: stage.pool,
                check: { _ in }
            ) { leftovers, _ in recorded.withLock { $0 += leftovers.count } }
            #expect(asked == 1 && stayed == 0)
            #expect(recorded.withLock(\.self) == 1)
            let left = try await stage.value(
                "select string_agg(name, ' ' order by name) from storage.objects",
                as: String.self
            )
            #expect(left == "1-anew.png 2-named.png 3-held.png")
        }
    }
}
