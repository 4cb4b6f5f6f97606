import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct LockHolderTests {
    /// Somebody has another lock as well, as every lock-out has for a moment: nobody waits for that.
    @Test func whoHasAnotherLockIsNotNamed() async throws {
        try await Stage.with { stage in
            let found = try await stage.database.withConnection(asAdministrator: true) { stranger in
                try stranger.execute("select pg_advisory_lock(hashtextextended('accountctl.hourly_ceiling', 0))")
                return try await stage.pool.withConnection { connection -> [String?] in
                    let (brake, ceiling) = (DeletionBrakes.holding.text, DeletionBrakes.counting.text)
                    return [
                        try LockHolder.find(behind: brake, on: connection)?.lock,
                        try LockHolder.find(behind: ceiling, on: connection)?.lock,
                    ]
                }
            }
            #expect(found == [nil, "accountctl.hourly_ceiling"])
        }
    }

    /// Locks of that name are another one in each database of a server: who ended its holder would end a stranger.
    @Test func whoHasItInAnotherDatabaseIsNotNamed() async throws {
        try await Stage.with { stage in
            let found = try await TestDatabase.with(.empty) { other in
                try await other.withConnection(asAdministrator: true) { stranger in
                    try stranger.execute("select pg_advisory_lock(hashtextextended('accountctl.hourly_ceiling', 0))")
                    return try await stage.pool.withConnection { connection -> String? in
                        try LockHolder.find(behind: DeletionBrakes.counting.text, on: connection)?.lock
                    }
                }
            }
            #expect(found == nil)
        }
    }
}
