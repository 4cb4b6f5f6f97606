import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Races between a cancellation and the beginning of a step: one of the two comes first, and everything that is done
/// and reported agrees with that order.
@Suite(.timeLimit(.minutes(5))) struct CancelRaceTests {
    @Test func whoCancelsBeforeTheLockIsHeldWasNeverLockedOut() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .begun(.lockOut)) {
                _ = try await stage.call(person, "select public.cancel_account_deletion()")
            }
            #expect(pause == .ended(.cancelled))
            let status = try await stage.call(person, "select public.account_deletion_status()")
            #expect(status.contains(#""steps_done": ["preflight"]"#), "\(status)")
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
        }
    }

    /// The lock-out holds the lock on the request's row, and the call has seen a request that can still be cancelled.
    @Test func whoCancelsWhileTheLockOutIsWrittenComesTooLate() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let late = try await stage.admin.withTransaction { connection in
                try connection.execute(
                    """
                    update accountctl.deletion_requests set state = 'running', locked_out_at = now() where id = \(request)
                    """
                )
                let late = Task {
                    await sqlState { try await stage.call(person, "select public.cancel_account_deletion()") }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return late
            }
            #expect(await late.value == "PT409")
            #expect(try await stage.state(request) == "running")
        }
    }

    /// Cancelled requests count for the session that cancelled them.
    @Test func ofTwoSessionsThatCancelAtOnceItWasTheFirst() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.request(person)
            let second = try await stage.signedIn(person, claims: ["session_id": "first"]) { connection in
                _ = try connection.one("select public.cancel_account_deletion()", as: String.self)
                let second = Task {
                    await sqlState {
                        try await stage.call(
                            person,
                            claims: ["session_id": "second"],
                            "select public.cancel_account_deletion()"
                        )
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return second
            }
            #expect(await second.value == nil)
            let byTheFirst: Statement = "select from accountctl.deletion_requests where cancelled_by = sha256('first')"
            #expect(try await stage.count(byTheFirst) == 1)
        }
    }

    @Test(arguments: [DeletionStep.lockOut, .revokeApple])
    func aStepOfARequestThatWasCancelledSinceDoesNotBegin(_ step: DeletionStep) async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(step)) {
                let act = try await stage.pool.withConnection {
                    try await desk.cancel(request, reason: "mistake", on: $0)
                }
                #expect(act == .done)
            }
            #expect(pause == .ended(.cancelled))
            #expect(try await stage.count("select from accountctl.deletion_steps where step = \(step.rawValue)") == 0)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    /// The operator's act holds the lock on the request's row, and has already checked which steps have begun.
    @Test func aStepThatBeginsWhileAnOperatorCancelsWaits() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.revokeApple)))
            let driven = try await stage.admin.withTransaction { connection in
                _ = try connection.one(
                    "select true from accountctl.deletion_requests where id = \(request) for update",
                    as: Bool.self
                )
                let driven = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try connection.execute(
                    """
                    update accountctl.deletion_requests set state = 'cancelled', finished_at = now() where id = \(request)
                    """
                )
                return driven
            }
            #expect(try await driven.value == .ended(.cancelled))
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    /// The app submits a code, which locks the account, and requests the deletion again, which inserts a status token
    /// with a foreign key to the request: neither deadlocks with the lock-out.
    @Test func aLockOutAndAnAppThatBringsACodeDoNotWaitForEachOther() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let driven = try await stage.signedIn(person) { connection in
                try Self.submit(code, on: connection)
                let driven = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try Self.askAgain(on: connection)
                return driven
            }
            _ = try await driven.value
            #expect(try await stage.outcome(.lockOut, request) == "ok")
            let runs: Statement = "select runs::int from accountctl.deletion_steps where step = 'lock_out'"
            #expect(try await stage.value(runs, as: Int.self) == 1)
        }
    }

    @Test func anOperatorWhoCancelsAndAnAppThatBringsACodeDoNotWaitForEachOther() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.revokeApple)))
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            let cancelled = try await stage.signedIn(person) { connection in
                try Self.submit(code, on: connection)
                let cancelled = Task {
                    try await stage.pool.withConnection { try await desk.cancel(request, reason: "mistake", on: $0) }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                try Self.askAgain(on: connection)
                return cancelled
            }
            #expect(try await cancelled.value == .done)
        }
    }

    private static func submit(_ code: String, on connection: isolated Connection) throws {
        try connection.execute("select public.submit_apple_authorization_code(\(code), \(Stage.clientID))")
    }

    private static func askAgain(on connection: isolated Connection) throws {
        try connection.execute("select public.request_account_deletion()")
    }

    /// The job must not stay among the live ones until grace ends.
    @Test func theJobOfACancelledRequestEnds() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let reply = try await stage.call(person, "select public.request_account_deletion()")
            let request = try Opened(reply).request
            let due: Statement = """
                select from accountctl.jobs where kind = 'account.delete' and run_at <= clock_timestamp()
                """
            #expect(try await stage.count(due) == 0)
            _ = try await stage.call(person, "select public.cancel_account_deletion()")
            #expect(try await stage.count("\(due) and state = 'available'") == 1)
            #expect(try await stage.drive(request) == .ended(.cancelled))
        }
    }
}
