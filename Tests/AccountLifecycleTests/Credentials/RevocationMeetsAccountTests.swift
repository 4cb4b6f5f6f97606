import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Attempts at a revocation while the account still exists, or exists again.
@Suite(.timeLimit(.minutes(5))) struct RevocationMeetsAccountTests {
    /// A person who signed up again is not signed out: revoking by the old token would end the new account's grant.
    @Test func whoHasSignedUpAnewIsNotSignedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.handedOver(of: person)
            #expect(try await stage.drive(request) == .ended(.verified))
            stage.sandbox.faults.clearAll()
            let (calls, consents) = (stage.sandbox.journal.count(.appleRevoke), stage.sandbox.apple.liveConsents)
            _ = try await stage.signUp(sub: person.sub)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "given_up 1 f not_revoked")
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
            #expect(stage.sandbox.apple.liveConsents == consents)
            let left = try await stage.value(
                "select last_outcome || ' ' || (sealed_subject is null) from accountctl.pending_revocations",
                as: String.self
            )
            #expect(left == "person_returned true")
        }
    }

    /// The account was deleted elsewhere between reading its credentials and the call to Apple.
    @Test func whoComesBackWhileTheLineIsLongIsKnownByTheToken() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let held = try await stage.pool.withConnection { try AppleCredential.all(of: person.id, on: $0) }
            let credential = try #require(held.first)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            let gone = try await stage.pool.withConnection { try credential.isAnothers(on: $0) }
            _ = try await stage.signUp(sub: person.sub)
            let back = try await stage.pool.withConnection { try credential.isAnothers(on: $0) }
            #expect([gone, back] == [false, true])
        }
    }

    /// Where the new team's sub of a person belongs to another account, a token of the app's Services ID is that
    /// account's too: it moves with the app, and the run named the app alone.
    @Test func aTokenOfAServicesIDIsOfWhoeverHasTheNewSub() async throws {
        try await Stage.with { stage in
            let (person, other) = (try await stage.signUp(), try await stage.signUp("berta"))
            try await stage.sql(
                """
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                values (\(person.id), 'com.example.web', \(person.sub), 'x', 'test1')
                """
            )
            for isMoved in [false, true] {
                if isMoved { try await stage.move(person, to: try #require(other.sub)) }
                let held = try await stage.pool.withConnection { try AppleCredential.all(of: person.id, on: $0) }
                let credential = try #require(held.first)
                let isAnothers = try await stage.pool.withConnection { try credential.isAnothers(on: $0) }
                #expect([credential.belongsToAnother, isAnothers] == [isMoved, isMoved])
            }
        }
    }

    /// An account that was restored on purpose under its old id keeps its grant.
    ///
    /// The request for the former account was cancelled.
    @Test func whoIsBroughtBackUnderTheOldIDIsNotSignedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.handedOver(of: person)
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            try await stage.sql("delete from auth.users where id = \(person.id)")
            try await stage.sql(
                """
                insert into auth.users (instance_id, id, aud, role, created_at)
                values ('00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated', now())
                """
            )
            try await stage.sql(
                """
                insert into auth.identities (user_id, provider, provider_id, identity_data)
                values (\(person.id), 'apple', \(person.sub), '{}')
                """
            )
            let consents = stage.sandbox.apple.liveConsents
            let desk = stage.desk
            let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "x", on: $0) }
            #expect(act == .done)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "given_up 1 f not_revoked")
            #expect(stage.sandbox.apple.liveConsents == consents)
        }
    }

    /// The account under erasure exists until its rows are deleted, and does not count as a person who has returned.
    @Test(arguments: [false, true])
    func theAccountThatIsErasedHasNotReturned(_ isOld: Bool) async throws {
        try await Stage.with { stage in
            let request = try await stage.handedOver(of: try await stage.fullAccount())
            // An older worker handed the revocation over without a sealed subject.
            if isOld { try await stage.sql("update accountctl.pending_revocations set sealed_subject = null") }
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.revocation(of: request) == "revoked 1 f revoked")
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await stage.drive(request) == .ended(.verified))
            // The record remains after the account is deleted.
            #expect(try await stage.revocation(of: request) == "revoked 1 f revoked")
            #expect(try await stage.appleInReceipt(of: request) == "revoked revoked {\"revoked\": 1}")
        }
    }

    /// A revocation that was given up is reported as such, whether or not the account still exists.
    @Test func whatIsGivenUpBeforeTheAccountGoesIsNotPending() async throws {
        try await Stage.with { stage in
            let request = try await stage.handedOver(of: try await stage.fullAccount())
            try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.revocation(of: request) == "given_up 1 f not_revoked")
            #expect(try await stage.appleInReceipt(of: request) == "not_revoked not_revoked {\"not_revoked\": 1}")
        }
    }

    /// A pause or a hold stops the revocation, since the account may live on and needs its grant to sign in.
    @Test(arguments: ["paused", "held"]) func whatAnOperatorStopsIsNotRevoked(_ brake: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.handedOver(of: person)
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            let desk = stage.desk
            try await stage.pool.withConnection { connection in
                if brake == "paused" {
                    _ = try await desk.pause(request, reason: nil, on: connection)
                } else {
                    _ = try await desk.hold(person.id, reason: "x", on: connection)
                }
            }
            let calls = stage.sandbox.journal.count(.appleRevoke)
            #expect(try await PendingRevocation.retry(with: stage.services()) == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
            #expect(stage.sandbox.apple.liveConsents == 1)
            try await stage.pool.withConnection { connection in
                if brake == "paused" {
                    _ = try await desk.resume(request, on: connection)
                } else {
                    _ = try await desk.release(person.id, reason: nil, on: connection)
                }
            }
            #expect(try await PendingRevocation.retry(with: stage.services()) == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }
}
