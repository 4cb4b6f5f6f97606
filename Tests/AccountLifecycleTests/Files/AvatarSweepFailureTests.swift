import AccountLifecycle
import Foundation
import Postgres
import Testing

/// A sweep that cannot know which objects are in use ends before it has judged any.
@Suite(.timeLimit(.minutes(5))) struct AvatarSweepFailureTests {
    private let sweep = AvatarSweep(before: Date())

    /// Objects whose users or profiles are hidden would look left behind.
    @Test func aRoleThatDoesNotSeeAllRowsSweepsNothing() async throws {
        try await Stage.with { stage in
            for table in ["public.profiles", "auth.users", "storage.objects"] {
                await #expect(throws: AvatarSweep.Failure.hiddenRows(table)) {
                    try await stage.admin.withTransaction { [sweep] connection in
                        try connection.execute("set local role authenticated")
                        _ = try sweep.names(on: connection)
                    }
                }
                try await stage.sql("alter table \(unsafeSQL: table) disable row level security")
            }
        }
    }

    @Test func nothingIsSweptWhereNoProfileNamesObjects() async throws {
        try await Stage.with { stage in
            try await stage.sql("alter table public.profiles rename avatar_url to picture")
            await #expect(throws: AvatarSweep.Failure.noProfiles) {
                try await stage.pool.withConnection { [sweep] connection in
                    _ = try sweep.names(on: connection)
                }
            }
        }
    }
}
