import Postgres
import Sealing
import Testing

@testable import AccountLifecycle

@Suite("A hash key that is new beside another", .timeLimit(.minutes(5)))
struct NewHashKeyTests {
    @Test("is refused by an act, and made known by a pause of everything alone, though all is paused already")
    func act() async throws {
        try await Stage.with { stage in
            let newer = HashKey(SealingKey.random(id: try #require(KeyID("newer"))))
            let desk = DeletionDesk(Operator(name: "test", hashKey: newer))
            try await stage.pool.withConnection { try await stage.desk.pauseAll(reason: "test", on: $0) }
            await #expect(throws: NewHashKey(key: newer.id, others: [stage.vault.hashKey.id.text])) {
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
            }
            #expect(try await stage.count("select from accountctl.hash_key_canaries") == 1)
            #expect(try await stage.count("select from accountctl.deletion_brakes where paused_at is not null") == 1)
            let isChanged = try await stage.pool.withConnection { connection in
                try await desk.pauseAll(reason: nil, on: connection).isChanged
            }
            #expect(!isChanged)
            try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
            #expect(try await stage.count("select from accountctl.deletion_brakes where paused_at is not null") == 0)
        }
    }
}
