import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct LockHolderTests {
    /// Another session also holds a second lock, as every lock-out does for a moment, but nobody waits for that one.
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

    /// Each database of a server has its own lock of that name: ending the session of another database's holder would
    /// end a stranger's.
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
