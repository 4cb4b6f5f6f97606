import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// The attempts that are meant for Apple: what the database refuses is none of them.
@Suite struct AppleAttemptTests {
    /// Some refusals of the database and then a single failure of Apple's handed the credential over.
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

    /// A code that came in late sends the run back: to a step that has not failed yet.
    @Test func aStepThatIsGoneBackToHasNotFailed() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
            try await stage.sql("update accountctl.deletion_requests set failures = 4 where id = \(request)")
            try await stage.pool.withConnection { connection in
                let journal = DeletionJournal(request: request, fence: nil)
                try journal.takeBack(DeletionMachine.steps(toRepeatFrom: .revokeApple), on: connection)
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
