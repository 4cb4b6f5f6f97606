import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// A pause of everything that is requested after a worker's last check of the brakes, but before the worker has
/// committed something that cannot be undone.
@Suite(.timeLimit(.minutes(5))) struct BrakeBeforeCommitTests {
    /// What a worker is about to commit.
    enum Moment: CaseIterable {
        /// The note that Apple is asked.
        case asking
        /// The decision to give up a credential.
        case givingUp
        /// The end of the step at Apple where no credential is held.
        case concluding
        case receipt

        var step: DeletionStep { self == .receipt ? .receipt : .revokeApple }

        /// Locks what the worker is about to write.
        var holdingUp: Statement {
            switch self {
            case .asking, .concluding:
                "select from accountctl.deletion_steps where step = 'revoke_apple' for update"
            case .givingUp: "select from accountctl.apple_credentials for update"
            case .receipt: "lock table accountctl.deletion_receipts in exclusive mode"
            }
        }

        /// Selects a row once the worker has committed.
        var committed: Statement {
            switch self {
            case .asking: "select from accountctl.deletion_steps where step = 'revoke_apple' and facts is not null"
            case .givingUp: "select from accountctl.deletion_requests where apple_counts <> '{}'"
            case .concluding:
                "select from accountctl.deletion_steps where step = 'revoke_apple' and outcome is not null"
            case .receipt: "select from accountctl.deletion_receipts"
            }
        }

        var calls: Int { self == .asking || self == .receipt ? 1 : 0 }
    }

    /// A request whose worker reaches that moment.
    private func makeRequest(comingTo moment: Moment, on stage: Stage) async throws -> UUID {
        switch moment {
        case .asking, .receipt: return try await stage.request(try await stage.fullAccount())
        case .concluding: return try await stage.request(try await stage.signUp())
        case .givingUp:
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.addMovedCredential(of: person)
            return request
        }
    }

    @Test(arguments: Moment.allCases) func itWaitsForWhatIsAboutToBeCommitted(_ moment: Moment) async throws {
        try await Stage.with { stage in
            let request = try await makeRequest(comingTo: moment, on: stage)
            let desk = DeletionDesk(Operator(name: "test", hashKey: stage.vault.hashKey), patience: .seconds(60))
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let (locked, lock) = AsyncStream.makeStream(of: Void.self)
            let drive = Task {
                defer { begin.finish() }
                return try await stage.drive(request, once: .begun(moment.step)) {
                    begin.finish()
                    for await _ in locked {}
                }
            }
            for await _ in begun {}
            let pausing = try await stage.admin.withTransaction { other in
                defer { lock.finish() }
                try other.execute(moment.holdingUp)
                lock.finish()
                try await other.waitUntilSomebodyIsBlocked()
                let pausing = Task {
                    _ = try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
                    return try await stage.count(moment.committed)
                }
                try await stage.database.waitUntilBlocked(sessions: 2)
                return pausing
            }
            #expect(try await pausing.value == 1, "the word was given before it was committed")
            _ = try await drive.value
            #expect(try await stage.state(request) == (moment == .receipt ? "verified" : "held"))
            #expect(stage.sandbox.journal.count(.appleRevoke) == moment.calls)
        }
    }

    /// All locks are taken in one order: a worker that waits for an account keeps nobody from pausing everything, and
    /// sees that pause.
    @Test func whoWaitsForAnAccountDoesNotHoldTheBrake() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
            let (drive, isFree) = try await stage.admin.withTransaction { other in
                try other.execute("select from auth.users where id = \(person.id) for update")
                let drive = Task { try await stage.drive(request) }
                try await other.waitUntilSomebodyIsBlocked()
                let isFree = try other.one(
                    "select pg_try_advisory_xact_lock(hashtextextended('accountctl.deletion_brakes', 0))",
                    as: Bool.self
                )
                try other.execute("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'test'")
                return (drive, isFree)
            }
            _ = try await drive.value
            #expect(isFree)
            #expect(try await stage.situation(request)?.code == .paused)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
        }
    }

    /// A late revocation, whose account may be gone and whose wait for Apple may be long, sees a pause that is being
    /// committed.
    @Test func aLateRevocationWaitsForAWordThatIsBeingGiven() async throws {
        try await Stage.with { stage in
            _ = try await stage.erasedWithoutApple()
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            let calls = stage.sandbox.journal.count(.appleRevoke)
            let retry = try await stage.admin.withTransaction { pausing in
                try pausing.execute("select \(DeletionBrakes.awaiting)")
                let retry = Task { try await stage.retryRevocations() }
                try await pausing.waitUntilSomebodyIsBlocked()
                try pausing.execute("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'test'")
                return retry
            }
            #expect(try await retry.value == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == calls)
        }
    }
}
