import Foundation
import Postgres
import Sealing
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct CredentialVaultTests {
    @Test func rotationMovesEverythingWhileItStaysUsable() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<3 { _ = try await stage.signUp() }
            let binding = UUID()
            let pending = stage.keys.seal(
                Secret("pending"),
                for: PendingRevocation.context(binding: binding, clientID: CredentialStage.clientID)
            )
            let subjectContext = PendingRevocation.subjectContext(binding: binding, clientID: CredentialStage.clientID)
            let subject = stage.keys.seal(Secret("001.sub"), for: subjectContext)
            try await stage.sql(
                """
                insert into accountctl.pending_revocations
                    (client_id, sealed_token, sealed_subject, sealing_key_id, binding, give_up_at)
                values (
                    \(CredentialStage.clientID), \(pending.text), \(subject.text), 'k1', \(binding), now() + interval '1 day'
                )
                """
            )
            let second = try SealingKey.named("k2")
            let both = try KeyRing([stage.key, second])
            let vault = CredentialVault(pool: stage.pool, keys: both)
            #expect(
                try await vault.status().map { "\($0.key) \($0.credentials) \($0.pendingRevocations)" } == [
                    "k1 3 1", "k2 0 0",
                ]
            )

            var told = 0
            let rotation = try await vault.rotate { _ in told += 1 }
            #expect(rotation == .init(credentials: 3, pendingRevocations: 1))
            #expect(told == 2)
            #expect(try await vault.rotate() == .init())
            let sealed: Statement = "select sealed_subject from accountctl.pending_revocations"
            let moved = try await stage.value(sealed, as: String.self)
            #expect(try KeyRing([second]).openText(moved, for: subjectContext).reveal() == "001.sub")
            #expect(
                try await vault.status().map { "\($0.key) \($0.credentials) \($0.pendingRevocations)" } == [
                    "k1 0 0", "k2 3 1",
                ]
            )
            #expect(try await CredentialChecks(stage.services(keys: both)).sweep().live == 3)
        }
    }

    @Test func aMissingKeyIsNamedAndNothingIsLost() async throws {
        try await CredentialStage.with { stage in
            _ = try await stage.signUp()
            let other = try KeyRing([.named("k2")])
            let vault = CredentialVault(pool: stage.pool, keys: other)
            let status = try await vault.status()
            #expect(status.map(\.key) == ["k1", "k2"])
            #expect(status.map(\.isMissing) == [true, false])
            #expect(try await vault.rotate() == .init(failed: 1))
            #expect(try await CredentialChecks(stage.services(keys: other)).sweep().unreadable == 1)
            #expect(try await stage.value("select count(*) from accountctl.apple_credentials", as: Int.self) == 1)
        }
    }

    @Test func anotherKeyOfTheSameNameIsNoticedBeforeItSeals() async throws {
        try await CredentialStage.with { stage in
            let first = CredentialVault(pool: stage.pool, keys: stage.keys)
            // Reading the status records nothing.
            _ = try await first.status()
            #expect(try await stage.value("select count(*) from accountctl.sealing_canaries", as: Int.self) == 0)
            try await first.recordKeys()
            #expect(try await first.status().filter(\.isAnother) == [])
            let imposter = try KeyRing([.named("k1"), .named("k9")])
            let vault = CredentialVault(pool: stage.pool, keys: imposter)
            #expect(try await vault.status().filter(\.isAnother).map(\.key) == ["k1"])
            // A wrong key ring records nothing.
            #expect(try await stage.value("select count(*) from accountctl.sealing_canaries", as: Int.self) == 1)
        }
    }
}
