import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

/// Client ids that are unrelated to one another, such as those of several teams.
@Suite(.timeLimit(.minutes(5))) struct SeveralClientsTests {
    private static let other = "com.example.other"

    /// A broken key of one client id does not delay people whose credentials belong to another.
    @Test func aBrokenKeyHoldsUpItsOwnPeopleAlone() async throws {
        try await Stage.with { stage in
            let (anna, berta) = (try await stage.signUp(), try await stage.signUp("berta"))
            let services = stage.services(apple: try stage.clients(and: Self.other))
            for (person, clientID) in [(anna, Stage.clientID), (berta, Self.other)] {
                let code = try await stage.submitCode(of: person, clientID: clientID)
                #expect(try await CodeExchange(services).run(code) == .settled(.exchanged))
            }
            for endpoint in [Endpoint.appleToken, .appleRevoke] {
                stage.sandbox.faults.set(.appleError("invalid_client").only(for: Self.other), for: endpoint)
            }
            let driver = DeletionDriver(services)
            let (broken, good) = (try await stage.request(berta), try await stage.request(anna))
            _ = try await driver.drive(broken)
            #expect(try await stage.state(broken) == "waiting_for_apple")
            #expect(try await stage.situation(broken)?.subject == Self.other)
            #expect(try await driver.drive(good) == .ended(.verified))
            #expect(try await stage.appleTold(good) == ["revoked", "revoked", "revoked"])
        }
    }

    /// The grants of both Apple Accounts are revoked, since nobody else signs in with the one that was unlinked.
    @Test func bothGrantsOfTwoAppleAccountsAreRevokedThoughOneWasUnlinked() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let services = stage.services(apple: try stage.clients(and: Self.other))
            let second = try stage.sandbox.apple.signIn(clientID: Self.other)
            try await stage.sql(
                """
                insert into auth.identities (user_id, provider, provider_id, identity_data)
                values (\(person.id), 'apple', \(second.sub), '{}')
                """
            )
            let codes: [(String?, String)] = [(nil, Stage.clientID), (second.authorizationCode, Self.other)]
            for (code, clientID) in codes {
                let id = try await stage.submitCode(code, of: person, clientID: clientID)
                #expect(try await CodeExchange(services).run(id) == .settled(.exchanged))
            }
            try await stage.sql("delete from auth.identities where provider_id = \(person.sub)")
            let request = try await stage.request(person)
            #expect(try await DeletionDriver(services).drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.journal.count(.appleRevoke) == 2)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }
}
