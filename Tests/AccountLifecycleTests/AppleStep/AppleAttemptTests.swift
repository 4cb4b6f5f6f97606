import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Attempts at Apple are counted apart from failures of the database, and wait for as long as Apple asks.
@Suite(.timeLimit(.minutes(5))) struct AppleAttemptTests {
    /// Refusals of the database do not use up attempts at Apple.
    ///
    /// If they did, a few of them followed by a single failure at Apple would hand the credential over.
    @Test func whatTheDatabaseRefusesLeavesApplesAttemptsAlone() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.sql(
                """
                create function public.refuse() returns trigger language plpgsql as
                $$ begin raise exception 'no' using errcode = 'P0001'; end $$
                """
            )
            try await stage.sql(
                """
                create trigger refuse before delete on accountctl.apple_credentials
                for each row execute function public.refuse()
                """
            )
            for _ in 0..<4 { try await stage.drive(request) }
            #expect(try await stage.situation(request)?.code == .failing)
            #expect(try await failures(of: request, stage) == "4 0")
            try await stage.sql("drop trigger refuse on accountctl.apple_credentials")
            stage.sandbox.faults.set(.status(500), for: .appleRevoke)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .appleUnreachable)
            #expect(try await failures(of: request, stage) == "5 1")
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            #expect(try await stage.count("select from accountctl.pending_revocations") == 0)
        }
    }

    @Test func appleIsLeftAloneForAsLongAsItAsks() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            stage.sandbox.faults.set(.status(429, retryAfter: "1800"), for: .appleRevoke)
            guard case .failed(let delay, let situation) = try await stage.drive(request) else {
                Issue.record("went on")
                return
            }
            #expect(situation.code == .appleUnreachable && delay == .seconds(1800))
            // The wait is bounded, so that the people who look into the failure have not gone home.
            stage.sandbox.faults.clearAll()
            stage.sandbox.faults.set(.status(503, retryAfter: "86400"), for: .appleRevoke)
            guard case .failed(let bounded, _) = try await stage.drive(request) else {
                Issue.record("went on")
                return
            }
            #expect(bounded == .seconds(3600))
            stage.sandbox.faults.clearAll()
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Before the lock-out, the request waits in a state of its own for as long as Apple asks.
    @Test func aRequestThatWaitsForAppleLooksAgainWhenAppleSays() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.status(429, retryAfter: "1800"), for: .appleToken)
            let before = Date()
            guard case .until(let date) = try await stage.drive(request) else {
                Issue.record("went on")
                return
            }
            #expect(try await stage.state(request) == "waiting_for_apple")
            #expect(date.timeIntervalSince(before) >= 1800)
        }
    }

    /// A code is valid for five minutes, so it is tried once more before it expires, whatever wait Apple asks for.
    @Test func aCodeIsTriedWhenAppleSaysOrBeforeItsEnd() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            stage.sandbox.faults.set(.status(429, retryAfter: "60").times(1), for: .appleToken)
            guard case .again(let soon, _) = try await stage.exchange(code, of: person) else {
                Issue.record("was not put off")
                return
            }
            #expect(soon == .seconds(60))
            stage.sandbox.faults.set(.status(429, retryAfter: "3600").times(1), for: .appleToken)
            let id = try await stage.lastCode()
            guard case .again(let last, _) = try await CodeExchange(stage.services()).run(id) else {
                Issue.record("was not put off")
                return
            }
            #expect(last > .seconds(200) && last <= .seconds(280))
            #expect(try await CodeExchange(stage.services()).run(id) == .settled(.exchanged))
        }
    }

    @Test func whatWaitsToBeRevokedLeavesAppleAloneToo() async throws {
        try await Stage.with { stage in
            for name in ["anna", "berta"] {
                let person = try await stage.fullAccount(name)
                let request = try await stage.request(person)
                let id = stage.sandbox.faults.set(.status(500), for: .appleRevoke)
                try await stage.driveThroughFailures(request)
                stage.sandbox.faults.clear(id)
            }
            #expect(try await stage.count("select from accountctl.pending_revocations where state = 'waiting'") == 2)
            stage.sandbox.faults.set(.status(429, retryAfter: "600"), for: .appleRevoke)
            #expect(try await stage.retryRevocations() == 2)
            #expect(
                try await stage.count("select from accountctl.pending_revocations where last_tried_at is not null") == 1
            )
            stage.sandbox.faults.clearAll()
            #expect(try await stage.retryRevocations() == 1)
        }
    }

    /// When a late code sends the run back to an earlier step, the failures counted so far are reset.
    @Test func aStepThatIsGoneBackToHasNotFailed() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
            try await stage.sql("update accountctl.deletion_requests set failures = 4 where id = \(request)")
            try await stage.pool.withConnection { connection in
                let journal = DeletionJournal(request: request, fence: nil)
                let steps = DeletionMachine.steps(toRepeatFrom: .revokeApple)
                try journal.takeBack(steps, keepsFailures: false, on: connection)
            }
            #expect(try await failures(of: request, stage) == "0 0")
        }
    }

    private func failures(of request: UUID, _ stage: Stage) async throws -> String {
        try await stage.value(
            "select failures || ' ' || apple_failures from accountctl.deletion_requests where id = \(request)",
            as: String.self
        )
    }
}
