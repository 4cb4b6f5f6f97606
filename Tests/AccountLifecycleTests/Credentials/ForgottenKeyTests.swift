import AccountLifecycle
import Foundation
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

/// Forgetting a key locks rows in the same order as a worker, jobs first; any other order could deadlock.
@Suite(.timeLimit(.minutes(5))) struct ForgottenKeyTests {
    @Test func itMeetsAWorkerThatGoesOnToItsRequest() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            // The pending revocation refers to the request.
            try await stage.sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
            stage.sandbox.faults.set(.status(503), for: .appleRevoke)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
            let losses = try await forget(
                beside: "update accountctl.deletion_requests set failures = failures where id = \(request)",
                on: stage
            )
            #expect(losses.pendingRevocations == 1 && losses.deletionRequests == 1)
            let told = try await stage.appleTold(request)
            #expect(told[0] == "not_revoked")
        }
    }

    @Test func itMeetsAWorkerThatGoesOnToACredential() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let losses = try await forget(
                beside: "delete from accountctl.apple_credentials where user_id = \(person.id)",
                on: stage
            )
            #expect(losses.credentials == 0 && losses.deletionRequests == 1)
        }
    }

    /// Forgets the sealing key while a worker holds the only job, executes `onward`, and commits.
    private func forget(beside onward: Statement, on stage: Stage) async throws -> ForgottenKey.Losses {
        let fence = try await stage.claim("account.delete")
        let actor = Operator(name: "test", hashKey: stage.vault.hashKey)
        let forgetting = try await stage.admin.withTransaction { connection in
            try fence.hold(on: connection)
            let forgetting = Task {
                try await stage.pool.withConnection { connection in
                    try await ForgottenKey.forget("test1", as: actor, reason: "lost", on: connection)
                }
            }
            try await connection.waitUntilSomebodyIsBlocked()
            try connection.execute(onward)
            return forgetting
        }
        return try await forgetting.value
    }
}
