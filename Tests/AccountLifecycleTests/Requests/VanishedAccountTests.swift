import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Accounts that disappear, come back or never existed.
@Suite(.timeLimit(.minutes(5))) struct VanishedAccountTests {
    @Test func aUserDeletedMeanwhileIsStillCleanedUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.deleteRows, request) == "already_gone")
            // Its credential was deleted with it, unrevoked, and nothing tells any more that there was one.
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
            #expect(try await stage.traces(of: person) == "")
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    /// Upkeep forgets the account of a cancelled request, but not that of an open one, whose data could then not be
    /// cleaned up.
    @Test func whoseAccountIsGoneIsNotForgottenBeforeItsRequestHasEnded() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            try await DeletionUpkeep.run(with: stage.services())
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.traces(of: person) == "")
        }
    }

    @Test(arguments: [(.lockOut, "grant_unknown"), (.revokeApple, "revoked")] as [(DeletionStep, String)])
    func aUserDeletedMeanwhileTookAlongWhatWasNotRevokedYet(_ step: DeletionStep, _ outcome: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let end = try await stage.drive(request, once: .after(step)) {
                try await stage.sql("delete from auth.users where id = \(person.id)")
            }
            #expect(end == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == outcome)
        }
    }

    /// A revocation for one client id says nothing about another, whose credential was deleted with the account.
    @Test func aUserDeletedBetweenTwoRevocationsTookTheSecondAlong() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = "com.example.other"
            let both = try stage.clients(and: other)
            let code = try await stage.submitCode(of: person, clientID: other)
            #expect(try await CodeExchange(stage.services(apple: both)).run(code) == .settled(.exchanged))
            let request = try await stage.request(person)
            let driver = DeletionDriver(stage.services(apple: both))
            stage.sandbox.faults.set(.status(503).only(for: other), for: .appleRevoke)
            _ = try await driver.drive(request)
            let revoked = try await stage.value(
                "select apple_counts::text from accountctl.deletion_requests",
                as: String.self
            )
            #expect(revoked == #"{"revoked": 1}"#)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            #expect(try await driver.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
            #expect(stage.sandbox.apple.liveConsents == 1)
        }
    }

    @Test func anAccountMadeAfterTheRequestIsNotTheOneMeant() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.sql(
                "update auth.users set created_at = now() + interval '1 minute' where id = \(person.id)"
            )
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .otherAccount)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
        }
    }

    /// The auth server has a clock of its own, and the database's may be set back after a sign-up: such a request stood
    /// still for ever.
    @Test func anAccountThatSeemsYoungerThanItsRequestIsTheOneMeant() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.moveCreation(of: person, by: "interval '1 hour'")
            let request = try await stage.request(person)
            // Another one under the same id.
            try await stage.moveCreation(of: person, by: "interval '1 second'")
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .otherAccount)
            try await stage.moveCreation(of: person, by: "- interval '1 second'")
            #expect(try await stage.drive(request) == .ended(.verified))
            let left: Statement = "select from accountctl.deletion_requests where account_created_at is not null"
            #expect(try await stage.count(left) == 0)
        }
    }

    @Test func whoSignedUpAgainIsLeftAlone() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let returned = Kept<Person>()
            let pause = try await stage.drive(request, once: .after(.deleteRows)) {
                // The same address and the same Apple sub, under another id.
                returned.keep(try await stage.signUp("anna", email: person.email, sub: person.sub))
            }
            #expect(pause == .ended(.verified))
            let new = try #require(returned.value)
            #expect(new.sub == person.sub)
            #expect(try await stage.count("select from auth.users where id = \(new.id)") == 1)
            #expect(try await stage.count("select from public.profiles where id = \(new.id)") == 1)
        }
    }

    @Test func anUnknownUserCannotBeAskedFor() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let opening = try await stage.pool.withConnection { try await desk.request(UUID(), reason: "x", on: $0) }
            #expect(opening == .unknownUser)
            let stranger = Person(id: UUID(), email: "x@example.com", sub: nil)
            let state = await sqlState { try await stage.call(stranger, "select public.request_account_deletion()") }
            #expect(state == "PT410")
        }
    }
}

extension Stage {
    /// Moves the time at which a person's account was created.
    fileprivate func moveCreation(of person: Person, by time: Statement) async throws {
        try await sql("update auth.users set created_at = created_at + \(time) where id = \(person.id)")
    }
}
