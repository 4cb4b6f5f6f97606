import Postgres
import Sealing
import Testing

@testable import AccountLifecycle

@Suite("A new hash key beside another", .timeLimit(.minutes(5)))
struct NewHashKeyTests {
    @Test("is refused by every act until it is introduced, except by a pause of everything, which does not do so")
    func act() async throws {
        try await Stage.with { stage in
            let first = stage.vault.hashKey
            let newer = try HashKey(.named("newer"))
            let desk = DeletionDesk(Operator(name: "test", hashKey: newer))
            try await stage.pool.withConnection { try HashKeyCanary.require(first, on: $0) }
            let isChanged = try await stage.pool.withConnection { connection in
                try await DeletionDesk.pauseAll(by: OperatorSignature(name: "test"), on: connection).isChanged
            }
            #expect(isChanged)
            await #expect(throws: NewHashKey(key: newer.id, others: [first.id.text])) {
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
            }
            #expect(try await stage.count("select from accountctl.hash_key_canaries") == 1)
            #expect(try await stage.count("select from accountctl.deletion_brakes where paused_at is not null") == 1)
            try await stage.pool.withConnection { try HashKeyCanary.introduce(newer, on: $0) }
            try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
            #expect(try await stage.count("select from accountctl.deletion_brakes where paused_at is not null") == 0)
        }
    }
}
