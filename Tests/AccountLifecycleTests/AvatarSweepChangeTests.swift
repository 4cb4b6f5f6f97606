import AccountLifecycle
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

/// Between the look at an object and the call that deletes it a sweep may read thousands of pages.
@Suite(.timeLimit(.minutes(2))) struct AvatarSweepChangeTests {
    @Test func whatIsInUseAgainOrHeldByNowStays() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let held = try await stage.signUp("berta")
            for key in ["1-anew.png", "2-named.png", "4-left.png"] { try await stage.upload(key, by: person) }
            try await stage.upload("3-held.png", by: held)
            try await stage.sql("alter table storage.objects disable trigger user")
            try await stage.sql(
                "update storage.objects set created_at = now() - interval '60 days', updated_at = now() - interval '60 days'"
            )
            let sweep = AvatarSweep(before: Date(timeIntervalSinceNow: -86_400))
            let found = try await stage.pool.withConnection { connection in
                let names = try sweep.names(on: connection)
                return try sweep.next(after: nil, limit: AvatarSweep.batch, except: names, on: connection).leftovers
            }
            #expect(found.count == 4)
            try await stage.sql("update storage.objects set updated_at = now() where name = '1-anew.png'")
            try await stage.sql("update public.profiles set avatar_url = '2-named.png' where id = \(person.id)")
            _ = try await stage.pool.withConnection { try await stage.desk.hold(held.id, reason: "court", on: $0) }
            let recorded = Mutex(0)
            let (asked, stayed) = try await sweep.delete(found, by: StorageDoor(stage.storage), pool: stage.pool) {
                leftovers,
                _ in
                recorded.withLock { $0 += leftovers.count }
            }
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
