import Foundation
import Postgres
import Sandbox
import Sealing
import Synchronization
import TestSupport
import Testing

@testable import AccountLifecycle

/// Brakes that are pulled, and identities that move to other accounts, while credentials are revoked.
@Suite(.timeLimit(.minutes(5))) struct BrakeWithinRevocationTests {
    /// Without a credential to revoke the step would end at once, and so count as begun for good, whatever the operator
    /// who pulled the brake was told; nor is a delete tried that is still untried.
    @Test(arguments: Brake.allCases, [false, true])
    func theStepAtAppleDoesNotEndWhereNothingIsHeld(_ brake: Brake, _ isUntried: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            if isUntried { try await stage.refuseUntried("P0001") }
            try await stage.drive(request, once: .begun(.revokeApple)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'revoke_apple'") == 0)
            #expect(try await stage.rehearseCancelling(request) == .done)
            try await stage.sql("drop trigger if exists refuse on public.profiles")
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_held")
        }
    }

    /// A step that starts over because the app's tables have changed has not asked Apple: it does not count as begun.
    @Test func theStepAtAppleIsNotBegunWhereTablesChangeAllTheTime() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.refuseUntried("P0001")
            let catalogs = Mutex<CatalogCache?>(nil)
            let changes = Counter()
            let services = stage.services(probe: { point in
                guard point == .begun(.revokeApple) else { return }
                // The trial of the delete goes by the plan from before the change.
                _ = try await catalogs.withLock(\.self)?.plan(in: stage.pool)
                let former = changes.value == 0 ? "id" : "id\(changes.value)"
                changes.add()
                let new = "id\(changes.value)"
                try await stage.sql("alter table public.profiles rename \(identifier: former) to \(identifier: new)")
            })
            catalogs.withLock { $0 = services.catalogs }
            let situation = try await DeletionDriver(services).drive(request).failure
            #expect(situation.detail == "the app's tables keep changing during revoke_apple")
            #expect(changes.value == 6)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'revoke_apple'") == 0)
        }
    }

    @Test(arguments: Brake.allCases)
    func credentialsNotYetRevokedAreKept(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            // This credential's identity has moved: it is handled second, and without asking Apple.
            try await stage.addMovedCredential(of: person)
            let request = try await stage.request(person)
            try await stage.driveWithoutApple(request, once: .middle(.revokeApple)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            let left = try await stage.value(
                "select string_agg(client_id, ' ') from accountctl.apple_credentials",
                as: String.self
            )
            #expect(left == "com.example.web")
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
        }
    }

    /// Somebody else signs in with the same Apple Account while the call waits for its turn.
    @Test func aCredentialWhoseIdentitySomebodyElseGotMeanwhileIsNotRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta", apple: false)
            let context = AppleCredential.context(user: person.id, clientID: "com.example.web")
            let sealed = stage.vault.keys.seal(Secret("token"), for: context)
            try await stage.sql(
                """
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (\(person.id), 'com.example.web', 'unlinked', \(sealed.text), 'test1')
                """
            )
            let request = try await stage.request(person)
            try await stage.driveWithoutApple(request, once: .middle(.revokeApple)) {
                try await stage.sql(
                    """
                    insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                    values ('unlinked', \(other.id), '{}', 'apple', now())
                    """
                )
            }
            #expect(try await stage.state(request) == "verified")
            let counts = try await stage.value(
                "select apple_counts::text from accountctl.deletion_requests",
                as: String.self
            )
            #expect(counts == #"{"revoked": 1, "not_revoked": 1}"#)
            #expect(try await stage.count("select from accountctl.pending_revocations") == 0)
        }
    }
}

extension Stage {
    /// The result of a cancellation that is rolled back.
    fileprivate func rehearseCancelling(_ request: UUID) async throws -> DeletionDesk.Act? {
        let desk = desk
        do {
            try await pool.withTransaction { connection in
                let act = try await desk.cancel(request, reason: "test", on: connection)
                throw Rehearsed(act: act)
            }
        } catch let rehearsed as Rehearsed {
            return rehearsed.act
        }
        return nil
    }

    /// Drives a request past the preflight although a client id is not configured.
    fileprivate func driveWithoutApple(
        _ request: UUID,
        once point: DeletionPoint,
        _ act: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
        try await drive(request, once: point, act)
    }
}

/// Rolls a rehearsal back.
private struct Rehearsed: Error {
    let act: DeletionDesk.Act
}
