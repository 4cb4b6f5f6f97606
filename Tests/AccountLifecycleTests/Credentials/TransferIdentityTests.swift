import Foundation
import Postgres
import Sandbox
import Testing

@testable import AccountLifecycle

/// Which identity of an account a transfer moves.
@Suite(.timeLimit(.minutes(5))) struct TransferIdentityTests {
    private static let credentialSub: Statement = "select apple_sub from accountctl.apple_credentials"

    private func subs(_ person: CredentialStage.Person, _ stage: CredentialStage) async throws -> [String] {
        try await stage.value(
            "select array_agg(provider_id order by created_at) from auth.identities where user_id = \(person.id)",
            as: [String].self
        )
    }

    private func exchanged(
        _ person: CredentialStage.Person,
        oldSub: String?,
        newSub: String,
        _ stage: CredentialStage
    ) async throws {
        try await stage.sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state)
            values (
                \(person.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), \(oldSub), \(person.text), \(newSub), 'exchanged'
            )
            """
        )
    }

    /// A transfer changes only the identity that moves.
    ///
    /// With several teams and one address, the auth server links the identities to one account.
    @Test(arguments: [true, false])
    func onlyTheIdentityThatMovesIsChanged(_ otherIsOlder: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let signedIn = try await stage.value("select updated_at from auth.identities", as: Date.self)
            try await stage.link("002.other", to: anna, first: otherIsOlder)
            try await exchanged(anna, oldSub: anna.sub, newSub: "003.new", stage)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).apply().run.done == 1)
            let expected = otherIsOlder ? ["002.other", "003.new"] : ["003.new", "002.other"]
            #expect(try await subs(anna, stage) == expected)
            #expect(try await stage.value(Self.credentialSub, as: String.self) == "003.new")
            // The move does not count as a sign-in, which would make earlier events stale.
            let moved = try await stage.value(
                "select updated_at from auth.identities where provider_id = '003.new'",
                as: Date.self
            )
            #expect(moved == signedIn)
        }
    }

    /// If it is unknown which identity moves, operators must decide.
    ///
    /// The team that imported the transfer does not know the old sub.
    @Test func whereNobodyKnowsWhichIdentityMovesPeopleDecide() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.link("002.other", to: anna, first: true)
            try await exchanged(anna, oldSub: nil, newSub: "003.new", stage)
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            var conflict = TeamTransfer.Run()
            conflict.conflicts = 1
            #expect(try await books.apply().run == conflict)
            #expect(try await subs(anna, stage) == ["002.other", anna.sub])
            let reason = try await stage.value("select reason from accountctl.apple_transfers", as: String.self)
            #expect(reason == "several_apple_identities")
            // Once an operator has decided, the transfer is applied.
            try await stage.sql("delete from auth.identities where provider_id = '002.other'")
            #expect(try await books.apply().run.done == 1)
            #expect(try await subs(anna, stage) == ["003.new"])
            #expect(try await books.apply().run == .init())
        }
    }

    /// A person who signed in to the new team before the move is moved.
    ///
    /// The auth server linked the new sub to the account because the address is the same.
    @Test(arguments: [true, false])
    func whoSignedInToTheNewTeamBeforeIsMoved(_ isKnown: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.link("003.new", to: anna, first: false)
            try await exchanged(anna, oldSub: isKnown ? anna.sub : nil, newSub: "003.new", stage)
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            #expect(try await books.apply().run.done == 1)
            #expect(try await subs(anna, stage) == ["003.new"])
            #expect(try await stage.value(Self.credentialSub, as: String.self) == "003.new")
            var expected = TeamTransfer.Status()
            expected.applied = 1
            #expect(try await books.status() == expected)
        }
    }

    /// Apple's refusal of another team's identity does not undo its answer about this one.
    @Test func anotherTeamsIdentityDoesNotRefuseTheAccount() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            for (number, person) in people.enumerated() {
                try await stage.link("002.other-\(number)", to: person, first: number == 0)
            }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let run = try await stage.sender().generate()
            #expect(run.stoppedBy == nil)
            var expected = TeamTransfer.Status()
            expected.generated = 2
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status() == expected)
            let subs = try await stage.value(
                "select array_agg(old_sub order by old_sub) from accountctl.apple_transfers",
                as: [String].self
            )
            #expect(subs == people.map(\.sub).sorted())
        }
    }
}
