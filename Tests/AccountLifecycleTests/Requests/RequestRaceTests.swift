import Foundation
import Postgres
import TestSupport
import Testing

/// Asking for a deletion at the very moment at which the person cancels: what is opened then is a new request, and
/// takes the sign-in that any new one takes.
@Suite(.timeLimit(.minutes(5))) struct RequestRaceTests {
    private static let both = ["aal": "aal2"]

    /// Somebody with a second factor, who has asked for the deletion.
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

    /// A request is open when it is called, and none when it has waited for the account's row.
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

    /// Without a code it waits for the request that is being cancelled.
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
