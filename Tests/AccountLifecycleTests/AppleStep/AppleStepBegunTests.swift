import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import Sealing
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

/// The step at Apple begins when Apple is called or a credential is given up; until then the request can be cancelled.
@Suite(.timeLimit(.minutes(5))) struct AppleStepBegunTests {
    /// A worker whose key file lacks the key that sealed everything.
    private func driver(withoutKeyOf stage: Stage) throws -> DeletionDriver {
        DeletionDriver(stage.services(vault: try stage.vaultWithAnotherKey()))
    }

    private func cancel(_ request: UUID, on stage: Stage) async throws -> DeletionDesk.Act {
        let desk = stage.desk
        return try await stage.pool.withConnection { try await desk.cancel(request, reason: "test", on: $0) }
    }

    @Test func withoutTheKeyItHasNotBegun() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let situation = try await driver(withoutKeyOf: stage).drive(request).failure
            #expect(situation.code == .sealingKeyMissing)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await cancel(request, on: stage) == .done)
        }
    }

    /// A credential whose key is missing is not given up at the first attempt, even if there is no time left for Apple.
    ///
    /// A request that was released from a long hold, or reopened after a restore, has no time left at its first
    /// attempt. A request that goes on without Apple needs a worker that can open the credential to hand it over.
    @Test(arguments: ["legal_deadline = requested_at + interval '1 second'", "without_apple = true"])
    func aCredentialWithoutItsKeyIsNotGivenUpAtOnce(_ hurry: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.sql("update accountctl.deletion_requests set \(unsafeSQL: hurry)")
            let strange = try driver(withoutKeyOf: stage)
            for _ in 1..<DeletionRun.appleAttempts {
                let situation = try await strange.drive(request).failure
                #expect(situation.code == .sealingKeyMissing)
                #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            }
            // No worker has the key: after the last attempt the erasure goes on without it.
            _ = try await strange.drive(request)
            #expect(try await stage.outcome(.revokeApple, request) == "not_revoked")
        }
    }

    @Test func aCredentialThatAWorkerCannotOpenIsHandedOverByTheNext() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.sql("update accountctl.deletion_requests set without_apple = true")
            stage.sandbox.faults.set(.status(503), for: .appleRevoke)
            _ = try await driver(withoutKeyOf: stage).drive(request)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "pending")
        }
    }

    @Test func ofWhatWasStoppedBeforeItsTurnItHasNotBegun() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let desk = stage.desk
            try await stage.drive(request) { point in
                guard point == .begun(.revokeApple) else { return }
                _ = try await stage.pool.withConnection { try await desk.pause(request, reason: "test", on: $0) }
            }
            #expect(try await stage.situation(request)?.code == .paused)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await cancel(request, on: stage) == .done)
        }
    }

    /// If a worker died while its call was queued, and a pause then stops the next worker, the step has not begun.
    @Test func ofATryThatDiedBeforeItsTurnItHasNotBegun() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let desk = stage.desk
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.revokeApple)))
            _ = try await stage.pool.withConnection { try await desk.pause(request, reason: "test", on: $0) }
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .paused)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await cancel(request, on: stage) == .done)
        }
    }

    /// A request whose worker died while its call was queued is cancelled at once, before another worker takes it up.
    @Test func ofATryThatDiedBeforeItsTurnItIsCancelledAtOnce() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.revokeApple)))
            #expect(try await cancel(request, on: stage) == .done)
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'revoke_apple'") == 0)
            #expect(try await stage.drive(request) == .ended(.cancelled))
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    /// A cancellation before the step's turn stops it, whether its call is queued or there is no credential to revoke.
    @Test(arguments: [true, false])
    func aTryWhoseRequestIsCancelledBeforeItsTurnDoesNothing(_ holds: Bool) async throws {
        try await Stage.with { stage in
            let person = try await holds ? stage.fullAccount() : stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .begun(.revokeApple)) {
                let cancelled = try await cancel(request, on: stage)
                #expect(cancelled == .done)
            }
            #expect(pause == .ended(.cancelled))
            #expect(try await stage.count("select from accountctl.deletion_steps where step = 'revoke_apple'") == 0)
            #expect(try await stage.count("select from accountctl.apple_credentials") == (holds ? 1 : 0))
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    /// A failed test of the client after a pause does not begin the step, since the test is not a call about this
    /// account.
    @Test func whereTheTestAfterAPauseFailsItHasNotBegun() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            stage.sandbox.faults.set(.appleError("invalid_client"), for: .appleToken)
            stage.apple.pause(Stage.clientID, until: .distantPast, refusal: "invalid_client")
            let situation = try await stage.drive(request).failure
            #expect(situation.code == .appleMisconfigured)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await cancel(request, on: stage) == .done)
        }
    }

    /// The step does not begin while its client id is not configured, since nothing is sent.
    @Test(arguments: [true, false]) func whereNothingIsSentItHasNotBegun(_ cancels: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let none = try AppleClients(
                [],
                address: ServiceAddress(stage.sandbox.baseURL, allowPlainHTTP: true),
                caller: stage.caller,
                logger: .silent
            )
            let driver = DeletionDriver(stage.services(apple: none))
            for _ in 1..<DeletionRun.appleAttempts {
                let situation = try await driver.drive(request).failure
                #expect(situation.code == .appleMisconfigured)
            }
            if cancels {
                #expect(try await cancel(request, on: stage) == .done)
            } else {
                // After the last attempt the erasure goes on, and leaves the revocation pending.
                #expect(try await driver.drive(request) == .ended(.verified))
                #expect(try await stage.outcome(.revokeApple, request) == "pending")
            }
        }
    }

    /// A hold is reported as late only if Apple has been called, since only that cannot be undone.
    @Test(arguments: [(DeletionPoint.begun(.revokeApple), false), (.middle(.revokeApple), true)])
    func aHoldIsLateOnceAppleIsAsked(_ crash: DeletionPoint, _ hasAsked: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: crash))
            let desk = stage.desk
            let holding = try await stage.pool.withConnection {
                try await desk.hold(person.id, reason: "court", on: $0)
            }
            #expect(holding == (hasAsked ? .heldLate(1, state: .running, done: [.revokeApple]) : .held(1)))
        }
    }

    /// The step has begun once one of two credentials is forgotten because its identity moved to another account.
    @Test func whereACredentialIsGoneItHasBegun() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.addMovedCredential(of: person, id: -1)
            _ = try await driver(withoutKeyOf: stage).drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            #expect(try await cancel(request, on: stage) == .refused(.begun(step: .revokeApple)))
        }
    }
}
