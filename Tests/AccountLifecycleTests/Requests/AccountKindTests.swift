import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

/// Accounts of people who sign in neither by address nor with Apple, or whom the auth server has soft-deleted.
@Suite(.timeLimit(.minutes(5))) struct AccountKindTests {
    @Test func anAnonymousAccountIsErased() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.makeAnonymous(person)
            #expect(try await stage.upload("\(UUID().uuidString).jpeg", by: person))
            let request = try await stage.erase(person)
            #expect(try await stage.proofs(of: request) == Array(repeating: "searched", count: 3))
            #expect(try await stage.traces(of: person) == "")
            #expect(try await stage.count("select from storage.objects") == 0)
        }
    }

    /// The number is the only identifier by which other data may name the person.
    @Test func anAccountWithANumberAloneIsErasedAndTheNumberSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.makePhoneOnly(person, number: "4915112345678")
            try await stage.sql("create table public.calls (caller text)")
            try await stage.sql("insert into public.calls values ('+4915112345678')")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.calls.caller"])
            try await stage.sql("delete from public.calls")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.traces(of: person) == "")
        }
    }

    /// The auth server allows an ordinary account and one of a company's single sign-on to share an address: erasing
    /// one of them leaves the other alone.
    @Test(arguments: [true, false])
    func ofTwoAccountsWithOneAddressOneIsErased(_ isOfCompany: Bool) async throws {
        try await Stage.with { stage in
            let worker = try await stage.signUp(apple: false)
            try await stage.makeSingleSignOn(worker)
            let ordinary = try await stage.signUp("berta", email: worker.email, apple: false)
            let (gone, left) = isOfCompany ? (worker, ordinary) : (ordinary, worker)
            let ofLeft: Statement = """
                select (select count(*) from auth.users where id = \(left.id) and email = \(left.email))
                    + (select count(*) from auth.identities where user_id = \(left.id))
                    + (select count(*) from auth.sessions where user_id = \(left.id))
                    + (select count(*) from public.profiles where id = \(left.id))
                """
            let request = try await stage.erase(gone)
            #expect(try await stage.proofs(of: request) == Array(repeating: "searched", count: 3))
            #expect(try await stage.count("select from auth.users where id = \(gone.id)") == 0)
            #expect(try await stage.value(ofLeft, as: Int.self) == 4)
        }
    }

    /// A soft deletion makes the auth server forget the Apple identity, but the grant lives on, and we still hold its
    /// token.
    @Test func aGrantOfASoftDeletedAccountIsRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.holdCredential(of: person)
            try await stage.softDelete(person)
            let request = try await stage.requestByOperator(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Revoking the grant would sign the new account out.
    @Test func aGrantOfASoftDeletedAccountIsLeftToWhoeverCameAgain() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.holdCredential(of: person)
            try await stage.softDelete(person)
            let again = try await stage.signUp(sub: person.sub)
            let request = try await stage.requestByOperator(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["not_revoked", "not_revoked", "not_revoked"])
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            #expect(try await stage.count("select from auth.sessions where user_id = \(again.id)") == 1)
        }
    }
}
