import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Which other grants a late revocation settles besides its own credential; the account may be gone by then.
@Suite(.timeLimit(.minutes(5))) struct LateRevocationTests {
    /// How the revocation that was handed over ends.
    enum End: Sendable {
        case taken
        case givenUp
    }

    /// Requests a deletion whose credential will be handed over, since Apple is unavailable.
    private func requestInAnOutage(_ person: Person, on stage: Stage) async throws -> UUID {
        try await stage.holdCredential(of: person)
        let request = try await stage.request(person)
        try await stage.sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
        stage.sandbox.faults.set(.status(503), for: .appleRevoke)
        return request
    }

    /// Lets the revocation that was handed over succeed or be given up.
    private func end(as end: End, on stage: Stage) async throws {
        switch end {
        case .taken: stage.sandbox.faults.clearAll()
        case .givenUp: try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
        }
        #expect(try await stage.retryRevocations() == 0)
        #expect(stage.sandbox.apple.liveConsents == (end == .taken ? 0 : 1))
    }

    /// The outcome at Apple that the request records.
    private func told(_ request: UUID, on stage: Stage) async throws -> String? {
        try await stage.value(
            "select apple_outcome from accountctl.deletion_requests where id = \(request)",
            as: String?.self
        )
    }

    /// A late revocation settles a lost or unknown grant of the same client.
    ///
    /// A single outage can cause both: an answer that is lost, and a revocation that is handed over.
    @Test(
        arguments: UnheldGrant.allCases,
        [(Stage.clientID, End.taken, "revoked"), (nil, .taken, "revoked"), (Stage.clientID, .givenUp, "not_revoked")]
            as [(String?, End, String)]
    )
    func itEndsWhatWasLostOrUnknownOfItsClient(_ grant: UnheldGrant, _ later: (String?, End, String)) async throws {
        let (clientID, end, expected) = later
        // A lost grant always has a client id.
        guard grant == .unknown || clientID != nil else { return }
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.add(grant, of: person, clientID: clientID)
            let request = try await requestInAnOutage(person, on: stage)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == "pending")
            try await self.end(as: end, on: stage)
            #expect(try await told(request, on: stage) == expected)
        }
    }

    /// Apple may accept the revocation before the account is deleted, when the outcome is determined once more.
    @Test(arguments: UnheldGrant.allCases) func itMayBeTakenBeforeTheAccountGoes(_ grant: UnheldGrant) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.add(grant, of: person, clientID: Stage.clientID)
            let request = try await requestInAnOutage(person, on: stage)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                #expect(try await told(request, on: stage) == "pending")
                try await end(as: .taken, on: stage)
                #expect(try await told(request, on: stage) == "revoked")
            }
            #expect(pause == .ended(.verified))
            #expect(try await told(request, on: stage) == "revoked")
        }
    }

    /// A late revocation settles no grant of another client id, since which client ids Apple groups together is
    /// unknown.
    @Test(
        arguments: [(.lost, "not_revoked", "not_revoked"), (.unknown, "pending", "grant_unknown")]
            as [(UnheldGrant, String, String)]
    )
    func itEndsNothingOfAnotherClient(_ grant: UnheldGrant, _ atOnce: String, _ later: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.add(grant, of: person, clientID: "com.example.other")
            let request = try await requestInAnOutage(person, on: stage)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == atOnce)
            try await end(as: .taken, on: stage)
            #expect(try await told(request, on: stage) == later)
        }
    }

    /// A late revocation settles no grant that came after the handover, since Apple may have revoked before that grant.
    @Test(
        arguments: [(.lost, "not_revoked", "not_revoked"), (.unknown, "pending", "grant_unknown")]
            as [(UnheldGrant, String, String)]
    )
    func itEndsNothingThatCameSince(_ grant: UnheldGrant, _ atOnce: String, _ later: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await requestInAnOutage(person, on: stage)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                try await stage.add(grant, of: person, clientID: Stage.clientID)
            }
            #expect(pause == .ended(.verified))
            #expect(try await told(request, on: stage) == atOnce)
            try await end(as: .taken, on: stage)
            #expect(try await told(request, on: stage) == later)
        }
    }
}
