import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import Sealing
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct TeamTransferTests {
    static let recipient = "RECIPIENT1"
    private static let credentialSub: Statement = "select apple_sub from accountctl.apple_credentials"
    let transfer = TeamTransfer(clientID: CredentialStage.clientID, targetTeam: Self.recipient)

    private func sender(_ stage: CredentialStage, retriesRefused: Bool = false) throws -> TransferRuns {
        runs(try #require(stage.apple[CredentialStage.clientID]), stage, retriesRefused: retriesRefused)
    }

    /// On pages that are soon at their end.
    private func runs(_ client: SignInWithApple.AppleClient, _ stage: CredentialStage, retriesRefused: Bool = false)
        -> TransferRuns
    {
        var runs = TransferRuns(
            pool: stage.pool,
            client: client,
            transfer: transfer,
            callsPerSecond: 1000,
            retriesRefused: retriesRefused
        )
        runs.pageRows = 2
        return runs
    }

    /// The same client id with the recipient's team and key.
    private func withReceiver<Result: Sendable>(
        _ stage: CredentialStage,
        _ body: @Sendable (TransferRuns) async throws -> Result
    ) async throws -> Result {
        let logger = Logger.silent
        let key = stage.sandbox.apple.makeKey(teamID: Self.recipient)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            let clients = try AppleClients(
                [
                    AppleClientIdentity(
                        clientID: CredentialStage.clientID,
                        teamID: key.teamID,
                        keyID: key.keyID,
                        key: ApplePrivateKey(parsing: Secret(key.privateKey))
                    )
                ],
                address: ServiceAddress(stage.sandbox.baseURL),
                caller: caller,
                logger: logger
            )
            guard let client = clients[CredentialStage.clientID] else { throw CancellationError() }
            return try await body(runs(client, stage))
        }
    }

    private func identity(_ person: CredentialStage.Person, _ stage: CredentialStage) async throws -> (
        String, String?, String?
    ) {
        try await stage.admin.withConnection { connection in
            try connection.one(
                """
                select i.provider_id, i.identity_data ->> 'sub', u.email
                from auth.identities as i
                join auth.users as u on u.id = i.user_id
                where u.id = \(person.id)
                """,
                as: (String, String?, String?).self
            )
        }
    }

    @Test func everybodyMovesAndTheRunMayStopAnywhere() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp(), try await stage.signUp()]
            // One revoked before: Apple does not move them.
            stage.sandbox.apple.stopUsing(sub: people[2].sub, clientID: CredentialStage.clientID)
            // What the token endpoint shows as the address is the identity's.
            try await stage.sql(
                """
                update auth.identities as i
                set identity_data = identity_data || jsonb_build_object('email', u.email)
                from auth.users as u
                where u.id = i.user_id
                """
            )
            let before = try await identity(people[0], stage)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            #expect(try await books.status().waiting == 3)

            // Apple has a bad time after the first user: the run ends and says why.
            _ = stage.sandbox.faults.set(.appleError("invalid_client").times(1, after: 1), for: .appleMigration)
            let first = try await sender(stage).generate()
            // Whether the first one was refused for itself is not known yet, then: it is asked about again.
            #expect(first.done + first.refused <= 1)
            #expect(first.stoppedBy?.contains("invalid_client") == true)
            _ = try await stage.apple[CredentialStage.clientID]?.selfTest()
            let second = try await sender(stage).generate()
            #expect(second.stoppedBy == nil)
            #expect(first.done + second.done == 2)
            #expect(first.refused + second.refused == 1)
            #expect(try await sender(stage).generate() == .init())

            stage.sandbox.apple.acceptTransfer(of: CredentialStage.clientID)
            let exchanged = try await withReceiver(stage) { try await $0.exchange() }
            #expect(exchanged.done == 2)
            #expect(try await books.apply().done == 2)
            var expected = TeamTransfer.Status()
            expected.applied = 2
            expected.refused = 1
            #expect(try await books.status() == expected)

            let after = try await identity(people[0], stage)
            #expect(after.0 != before.0)
            #expect(after.1 == after.0)
            #expect(after.2 != before.2)
            #expect(try await identity(people[2], stage).0 == people[2].sub)
            let credentialSub = try await stage.value(
                "select apple_sub from accountctl.apple_credentials where user_id = \(people[0].id)",
                as: String.self
            )
            #expect(credentialSub == after.0)
            #expect(try await books.apply() == .init())
        }
    }

    /// The token's hour is over in the middle of a run, and Apple says `invalid_request`, as for a user who revoked.
    @Test func aTokenThatDiesInTheMiddleCostsNobodyTheMove() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<4 { _ = try await stage.signUp() }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            let apple = stage.sandbox.apple
            let run = try await sender(stage).generate { count in
                if count == 2 { apple.endAccessTokens() }
            }
            #expect(run.done == 4)
            #expect(run.refused == 0)
            #expect(run.stoppedBy == nil)
        }
    }

    /// The run has gone on when it is looked for again.
    @Test func whomAppleGaveNoAnswerAboutIsAskedAboutAgain() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<7 { _ = try await stage.signUp() }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            stage.sandbox.faults.set(.status(503).times(2, after: 2), for: .appleMigration)
            let run = try await sender(stage).generate()
            #expect(run.stoppedBy == nil)
            #expect(run.done == 7)
            #expect(try await sender(stage).generate() == .init())
        }
    }

    /// Each page begins where the one before ended, whoever has moved already.
    @Test func aPageReadsNobodyOfThoseBefore() async throws {
        try await CredentialStage.with { stage in
            let ids = (1...6).compactMap { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") }
            var people: [CredentialStage.Person] = []
            for id in ids { people.append(try await stage.signUp(id: id)) }
            let sender = SendingTeam(
                client: try #require(stage.apple[CredentialStage.clientID]),
                transfer: transfer,
                retriedBefore: nil
            )
            try await stage.admin.withConnection { [people] connection in
                for person in people.prefix(4) {
                    try sender.record("t", of: person.id, subject: person.sub, on: connection)
                }
            }
            // All identities of an account are on one page.
            for other in ["002.one", "002.two"] { try await link(other, to: people[4], stage, first: true) }
            var pages: [(due: Set<String>, last: UUID?)] = []
            repeat {
                let position = pages.last?.last
                let page = try await stage.pool.withConnection { try sender.page(after: position, rows: 2, on: $0) }
                pages.append((Set(page.due.map(\.subject)), page.last))
            } while pages.last?.last != nil && pages.count < 9
            #expect(pages.map(\.last) == [ids[1], ids[3], ids[4], ids[5], nil])
            #expect(pages.map(\.due) == [[], [], [people[4].sub, "002.one", "002.two"], [people[5].sub], []])
        }
    }

    @Test func aTokenIsRenewedBeforeItsTimeIsOver() async throws {
        try await CredentialStage.with { stage in
            let client = try #require(stage.apple[CredentialStage.clientID])
            for (lifetime, calls) in [(3600, 1), (0, 3)] {
                let body = #"{"access_token":"t","token_type":"Bearer","expires_in":\#(lifetime)}"#
                stage.sandbox.faults.set(.status(200, body: body), for: .appleToken)
                let before = stage.sandbox.journal.count(.appleToken)
                var tokens = MigrationTokens(client)
                for _ in 0..<3 { _ = try await tokens.token() }
                #expect(stage.sandbox.journal.count(.appleToken) - before == calls)
                stage.sandbox.faults.clearAll()
            }
        }
    }

    /// What is wrong with the request looks like users who revoked: nobody is written off for it.
    @Test func manyRefusedInARowAreNotBelieved() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<TransferRuns.refusalsInARow + 2 { _ = try await stage.signUp(credential: false) }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: "ANOTHER123")
            let run = try await sender(stage).generate()
            #expect(run.done == 0)
            #expect(run.refused == 0)
            #expect(run.stoppedBy?.contains("invalid_request") == true)
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).status().refused == 0)
        }
    }

    @Test func whoWasRefusedCanBeAskedAboutAgain() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            stage.sandbox.apple.stopUsing(sub: ben.sub, clientID: CredentialStage.clientID)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            #expect(try await sender(stage).generate().refused == 2)
            _ = try stage.sandbox.apple.signIn(clientID: CredentialStage.clientID, sub: anna.sub)
            #expect(try await sender(stage).generate() == .init())
            let again = try sender(stage, retriesRefused: true)
            // The other side has nothing to ask about whoever has no identifier.
            #expect(try await again.exchange() == .init())
            let run = try await again.generate()
            #expect(run.done == 1)
            #expect(run.refused == 1)
            var expected = TeamTransfer.Status()
            expected.generated = 1
            expected.refused = 1
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).status() == expected)
        }
    }

    /// The relay address that an event told of is the old team's; what is known of the new one is nothing.
    @Test func theKnownRelayAddressMovesToo() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                update auth.identities
                set identity_data = identity_data || '{"email": "old@privaterelay.appleid.com"}'
                where user_id = \(anna.id)
                """
            )
            try await stage.sql(
                """
                insert into accountctl.relay_addresses (user_id, address, apple_claim, forwarding, forwarding_changed_at)
                values (\(anna.id), 'old@privaterelay.appleid.com', true, 'off', now())
                """
            )
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state)
                values (
                    \(anna.id), \(transfer.clientID), \(transfer.targetTeam), 't', '003.new', 'New@privaterelay.appleid.com',
                    true, 'exchanged'
                )
                """
            )
            try await stage.sql(
                """
                insert into accountctl.apple_identity_marks (user_id, state, since)
                values (\(anna.id), 'transferred', now())
                """
            )
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            #expect(try await books.status().seen == 1)
            #expect(try await books.apply().done == 1)
            #expect(try await books.status().seen == 0)
            let (address, forwarding) = try await stage.admin.withConnection { connection in
                try connection.one(
                    "select address, forwarding from accountctl.relay_accounts",
                    as: (String, String).self
                )
            }
            #expect(address == "new@privaterelay.appleid.com")
            #expect(forwarding == "unknown")
        }
    }

    /// By its sub, or by the address alone.
    @Test(arguments: [true, false])
    func aSecondAccountOfThePersonIsAConflictForPeople(_ hasSub: Bool) async throws {
        try await CredentialStage.with { stage in
            let (anna, other) = (try await stage.signUp(), try await stage.signUp())
            try await stage.sql(
                """
                update auth.identities
                set identity_data = identity_data || jsonb_build_object(
                    'email', (select lower(email) from auth.users where id = \(anna.id))
                )
                where user_id = \(anna.id)
                """
            )
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, new_email, state)
                values (
                    \(anna.id), \(transfer.clientID), \(transfer.targetTeam), 't', \(hasSub ? other.sub : "003.new"),
                    (select email from auth.users where id = \(other.id) and not \(hasSub)), 'exchanged'
                )
                """
            )
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            var conflict = TeamTransfer.Run()
            conflict.conflicts = 1
            #expect(try await books.foresee() == conflict)
            #expect(try await books.apply() == conflict)
            #expect(try await identity(anna, stage).0 == anna.sub)
            #expect(try await books.status().conflict == 1)
        }
    }

    /// Another team's app: an identity that is no business of this transfer.
    private func link(
        _ sub: String,
        to person: CredentialStage.Person,
        _ stage: CredentialStage,
        first: Bool
    ) async throws {
        try await stage.sql(
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
            values (
                \(sub), \(person.id), jsonb_build_object('sub', \(sub)::text), 'apple',
                now() - interval '3 hours' - \(first ? 1 : -1) * interval '1 hour', now(), now()
            )
            """
        )
    }

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
                \(person.id), \(transfer.clientID), \(transfer.targetTeam), \(oldSub), \(person.text), \(newSub), 'exchanged'
            )
            """
        )
    }

    /// Several teams side by side, and one address: the auth server links the identities to one account.
    @Test(arguments: [true, false])
    func onlyTheIdentityThatMovesIsChanged(_ otherIsOlder: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let signedIn = try await stage.value("select updated_at from auth.identities", as: Date.self)
            try await link("002.other", to: anna, stage, first: otherIsOlder)
            try await exchanged(anna, oldSub: anna.sub, newSub: "003.new", stage)
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).apply().done == 1)
            let expected = otherIsOlder ? ["002.other", "003.new"] : ["003.new", "002.other"]
            #expect(try await subs(anna, stage) == expected)
            #expect(try await stage.value(Self.credentialSub, as: String.self) == "003.new")
            // The move is no sign-in: what ended before it has ended.
            let moved = try await stage.value(
                "select updated_at from auth.identities where provider_id = '003.new'",
                as: Date.self
            )
            #expect(moved == signedIn)
        }
    }

    /// The imported side does not know the old sub.
    @Test func whereNobodyKnowsWhichIdentityMovesPeopleDecide() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await link("002.other", to: anna, stage, first: true)
            try await exchanged(anna, oldSub: nil, newSub: "003.new", stage)
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            var conflict = TeamTransfer.Run()
            conflict.conflicts = 1
            #expect(try await books.apply() == conflict)
            #expect(try await subs(anna, stage) == ["002.other", anna.sub])
            let reason = try await stage.value("select reason from accountctl.apple_transfers", as: String.self)
            #expect(reason == "several_apple_identities")
            // Once somebody has decided, it goes on.
            try await stage.sql("delete from auth.identities where provider_id = '002.other'")
            #expect(try await books.apply().done == 1)
            #expect(try await subs(anna, stage) == ["003.new"])
            #expect(try await books.apply() == .init())
        }
    }

    /// The person signed in to the new team before being moved, with the address of the account: the auth server linked
    /// the new sub.
    @Test(arguments: [true, false])
    func whoSignedInToTheNewTeamBeforeIsMoved(_ isKnown: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await link("003.new", to: anna, stage, first: false)
            try await exchanged(anna, oldSub: isKnown ? anna.sub : nil, newSub: "003.new", stage)
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            #expect(try await books.apply().done == 1)
            #expect(try await subs(anna, stage) == ["003.new"])
            #expect(try await stage.value(Self.credentialSub, as: String.self) == "003.new")
            var expected = TeamTransfer.Status()
            expected.applied = 1
            #expect(try await books.status() == expected)
        }
    }

    /// The other identity's refusal does not take back what Apple said of this one.
    @Test func anotherTeamsIdentityDoesNotRefuseTheAccount() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            for (number, person) in people.enumerated() {
                try await link("002.other-\(number)", to: person, stage, first: number == 0)
            }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            let run = try await sender(stage).generate()
            #expect(run.stoppedBy == nil)
            var expected = TeamTransfer.Status()
            expected.generated = 2
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).status() == expected)
            let subs = try await stage.value(
                "select array_agg(old_sub order by old_sub) from accountctl.apple_transfers",
                as: [String].self
            )
            #expect(subs == people.map(\.sub).sorted())
        }
    }

    /// Another team's app has most of the users: Apple refuses them one after the other, and names whom it is asked
    /// about in between.
    @Test(arguments: ["named", "held"])
    func manyUsersOfAnotherTeamKeepNobodyFromBeingMoved(_ witness: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: witness == "held")
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            if witness == "named" {
                #expect(try await sender(stage).generate().done == 1)
            } else {
                try await stage.sql("update accountctl.apple_credentials set last_live_at = now()")
            }
            try await signUpWithAnotherTeam(50, stage)
            let run = try await sender(stage).generate()
            #expect(run.stoppedBy == nil)
            #expect(run.refused == 50)
            var expected = TeamTransfer.Status()
            expected.generated = 1
            expected.refused = 50
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).status() == expected)
            let named: Statement = "select old_sub from accountctl.apple_transfers where state = 'generated'"
            #expect(try await stage.value(named, as: String.self) == anna.sub)
        }
    }

    /// Where nothing shows that the request is right, each start begins elsewhere.
    @Test func aRunDoesNotBeginWithTheSameUsersForEver() async throws {
        try await CredentialStage.with { stage in
            let last = try #require(UUID(uuidString: "ffffffff-ffff-4fff-bfff-ffffffffffff"))
            _ = try await stage.signUp(id: last, credential: false)
            let first: Statement = "('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid"
            try await signUpWithAnotherTeam(25, stage, ids: first)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: Self.recipient)
            let run = try await sender(stage).generate()
            #expect(run.stoppedBy == nil)
            #expect(run.done == 1)
            #expect(run.refused == 25)
        }
    }

    private func signUpWithAnotherTeam(
        _ count: Int,
        _ stage: CredentialStage,
        ids: Statement = "gen_random_uuid()"
    ) async throws {
        try await stage.sql(
            """
            with people as (
                insert into auth.users (id, aud, role, email)
                select \(ids), 'authenticated', 'authenticated', n || '@example.com'
                from generate_series(1, \(count)) as n
                returning id
            )
            insert into auth.identities (provider_id, user_id, identity_data, provider)
            select '002.' || id, id, '{}', 'apple'
            from people
            """
        )
    }

    @Test func aFileGoesFromOneTeamToTheOther() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let books = TransferBooks(pool: stage.pool, transfer: transfer)
            let lines = [
                TeamTransfer.Line(user: anna.id, transferIdentifier: "t-1"),
                TeamTransfer.Line(user: UUID(), transferIdentifier: "t-2"),
            ]
            for new in [1, 0] {
                let taken = try await stage.pool.withTransaction { try transfer.importLines(lines, on: $0) }
                #expect(taken == (new, 1))
            }
            let (stream, collected) = AsyncStream.makeStream(of: TeamTransfer.Line.self)
            try await books.export { collected.yield($0) }
            collected.finish()
            var exported: [TeamTransfer.Line] = []
            for await line in stream { exported.append(line) }
            #expect(exported == [lines[0]])
            let text = String(decoding: try JSONEncoder().encode(lines[0]), as: UTF8.self)
            #expect(text.contains("transfer_sub"))
            #expect(!text.contains(anna.sub))
        }
    }
}
