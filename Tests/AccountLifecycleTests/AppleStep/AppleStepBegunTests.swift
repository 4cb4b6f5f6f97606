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

/// The step at Apple has begun once Apple is asked or a credential is given up, and not before: until then whoever has
/// to decide can cancel.
@Suite(.timeLimit(.minutes(5))) struct AppleStepBegunTests {
    /// A worker whose file of keys lacks the one that everything is sealed with.
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

    /// Released from a long hold, or opened again after a restore: its time for Apple is over before anybody has looked.
    ///
    /// And whoever goes on without Apple has the credential handed over by a worker that can open it.
    @Test(arguments: ["legal_deadline = requested_at + interval '1 second'", "without_apple = true"])
    func aCredentialWithoutItsKeyIsNotGivenUpAtOnce(_ hurry: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.sql("update accountctl.deletion_requests set \(unsafeSQL: hurry)")
            let strange = try driver(withoutKeyOf: stage)
            for _ in 1..<Stage.swift.appleAttempts {
                let situation = try await strange.drive(request).failure
                #expect(situation.code == .sealingKeyMissing)
                #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            }
            // Nobody has the key: the erasure does not wait for it for ever.
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

    /// A worker ended while its call stood in line; the brake keeps the next one from the step.
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

    /// Its worker is dead, and no other has looked since.
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

    /// Its call stands in line, or finds that there is nothing to call for.
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

    /// A pause that is over ends with a test of the client, which is no call about this account.
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

    /// The client id is configured nowhere.
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
            for _ in 1..<Stage.swift.appleAttempts {
                let situation = try await driver.drive(request).failure
                #expect(situation.code == .appleMisconfigured)
            }
            if cancels {
                #expect(try await cancel(request, on: stage) == .done)
            } else {
                // The erasure does not wait for it for ever.
                #expect(try await driver.drive(request) == .ended(.verified))
                #expect(try await stage.outcome(.revokeApple, request) == "pending")
            }
        }
    }

    /// Whoever holds an account is told what nothing takes back, and nothing else.
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

    /// Of two credentials, one of which is somebody else's by now and is forgotten.
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
