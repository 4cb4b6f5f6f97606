import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// What a revocation that Apple takes later, when the account may be gone, ends besides the credential itself.
@Suite(.timeLimit(.minutes(5))) struct LateRevocationTests {
    /// What becomes of the revocation that was handed over.
    enum End: Sendable {
        case taken
        case givenUp
    }

    /// A request whose credential is handed over, since Apple does not answer.
    private func requestInAnOutage(_ person: Person, on stage: Stage) async throws -> UUID {
        try await stage.holdCredential(of: person)
        let request = try await stage.request(person)
        try await stage.sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
        stage.sandbox.faults.set(.status(503), for: .appleRevoke)
        return request
    }

    /// Lets what was handed over come to its end.
    private func end(as end: End, on stage: Stage) async throws {
        switch end {
        case .taken: stage.sandbox.faults.clearAll()
        case .givenUp: try await stage.sql("update accountctl.pending_revocations set give_up_at = now()")
        }
        #expect(try await stage.retryRevocations() == 0)
        #expect(stage.sandbox.apple.liveConsents == (end == .taken ? 0 : 1))
    }

    /// What the request says of Apple.
    private func told(_ request: UUID, on stage: Stage) async throws -> String? {
        try await stage.value(
            "select apple_outcome from accountctl.deletion_requests where id = \(request)",
            as: String?.self
        )
    }

    /// An outage makes both halves at once: an answer that is lost, and a revocation that is handed over.
    @Test(
        arguments: UnheldGrant.allCases,
        [(Stage.clientID, End.taken, "revoked"), (nil, .taken, "revoked"), (Stage.clientID, .givenUp, "not_revoked")]
            as [(String?, End, String)]
    )
    func itEndsWhatWasLostOrUnknownOfItsClient(_ grant: UnheldGrant, _ later: (String?, End, String)) async throws {
        let (clientID, end, expected) = later
        // A lost grant has a client id always.
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

    /// Revoking was concluded when it was taken, and the account is reckoned up once more when it goes.
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

    /// Which others are in the group of a client id nobody here knows.
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

    /// Apple may be asked before a grant that comes after the handing over.
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
