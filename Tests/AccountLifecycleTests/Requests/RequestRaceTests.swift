import Foundation
import Postgres
import TestSupport
import Testing

/// A deletion that is requested while the person cancels the open one opens a new request, which requires the sign-in
/// of any new request.
@Suite(.timeLimit(.minutes(5))) struct RequestRaceTests {
    private static let both = ["aal": "aal2"]

    /// Signs up a person with a second factor, who then requests the deletion.
    private static func asked(on stage: Stage) async throws -> Person {
        let person = try await stage.signUp()
        try await stage.sql(
            """
            insert into auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
            values (gen_random_uuid(), \(person.id), 'totp', 'verified', now(), now())
            """
        )
        _ = try await stage.call(person, claims: both, "select public.request_account_deletion()")
        return person
    }

    /// A request is open when the call starts, and cancelled while the call waits for the lock on the account's row.
    @Test func aCodeThatWaitsWhileThePersonCancelsOpensNothingWithoutTheSecondFactor() async throws {
        try await Stage.with { stage in
            let person = try await Self.asked(on: stage)
            let late = try await stage.admin.withTransaction { connection in
                _ = try connection.one(
                    "select true from auth.users where id = \(person.id) for no key update",
                    as: Bool.self
                )
                let late = Task {
                    await sqlState {
                        try await stage.call(person, "select public.request_account_deletion('late')")
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                _ = try await stage.call(person, claims: Self.both, "select public.cancel_account_deletion()")
                return late
            }
            #expect(await late.value == "PT403")
            #expect(try await stage.count("select from accountctl.deletion_requests where finished_at is null") == 0)
            #expect(try await stage.count("select from accountctl.authorization_codes") == 0)
        }
    }

    /// Without a code the call waits for the lock on the request that is being cancelled.
    @Test(arguments: ["aal1", "aal2"])
    func whoWaitsForThePersonToCancelOpensARequestWithTheSecondFactorAlone(_ aal: String) async throws {
        try await Stage.with { stage in
            let person = try await Self.asked(on: stage)
            let asking = try await stage.signedIn(person, claims: Self.both) { connection in
                _ = try connection.one("select public.cancel_account_deletion()", as: String.self)
                let asking = Task {
                    await sqlState {
                        try await stage.call(person, claims: ["aal": aal], "select public.request_account_deletion()")
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return asking
            }
            let isEnough = aal == "aal2"
            #expect(await asking.value == (isEnough ? nil : "PT403"))
            let open: Statement = "select from accountctl.deletion_requests where finished_at is null"
            #expect(try await stage.count(open) == (isEnough ? 1 : 0))
        }
    }
}
