import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import SandboxClients
import Sealing
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct TeamTransferTests {
    /// Runs `body` with the same client id, but the recipient's team and key.
    private func withReceiver<Result: Sendable>(
        _ stage: CredentialStage,
        _ body: @Sendable (TransferRuns) async throws -> Result
    ) async throws -> Result {
        let logger = Logger.silent
        let key = stage.sandbox.apple.makeKey(teamID: CredentialStage.recipient)
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            let clients = try AppleClients(of: stage.sandbox, [CredentialStage.clientID], key: key, caller: caller)
            guard let client = clients[CredentialStage.clientID] else { throw CancellationError() }
            return try await body(stage.transferRuns(client))
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
            // One person revoked before the transfer, so Apple does not move that person.
            stage.sandbox.apple.stopUsing(sub: people[2].sub, clientID: CredentialStage.clientID)
            // The identity has the address that the token endpoint returns, and the account a copy of the identity's data.
            try await stage.sql(
                """
                update auth.identities as i
                set identity_data = identity_data || jsonb_build_object('email', u.email, 'provider_id', i.provider_id)
                from auth.users as u
                where u.id = i.user_id
                """
            )
            try await stage.sql(
                """
                update auth.users as u
                set raw_user_meta_data = i.identity_data || '{"theme": "dark"}'
                from auth.identities as i
                where i.user_id = u.id
                """
            )
            let before = try await identity(people[0], stage)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            #expect(try await books.status().waiting == 3)

            // Apple fails after the first user: the run stops and reports why.
            _ = stage.sandbox.faults.set(.appleError("invalid_client").times(1, after: 1), for: .appleMigration)
            let first = try await stage.sender().generate()
            // It is not yet known whether a refusal was about the user itself, so Apple is asked about that user again.
            #expect(first.done + first.refused <= 1)
            #expect(first.stoppedBy?.contains("invalid_client") == true)
            _ = try await stage.apple[CredentialStage.clientID]?.selfTest()
            let second = try await stage.sender().generate()
            #expect(second.stoppedBy == nil)
            #expect(first.done + second.done == 2)
            #expect(first.refused + second.refused == 1)
            #expect(try await stage.sender().generate() == .init())

            stage.sandbox.apple.acceptTransfer(of: CredentialStage.clientID)
            let exchanged = try await withReceiver(stage) { try await $0.exchange() }
            #expect(exchanged.done == 2)
            #expect(try await books.apply().run.done == 2)
            var expected = TeamTransfer.Status()
            expected.applied = 2
            expected.refused = 1
            #expect(try await books.status() == expected)

            let after = try await identity(people[0], stage)
            #expect(after.0 != before.0)
            #expect(after.1 == after.0)
            #expect(after.2 != before.2)
            #expect(try await identity(people[2], stage).0 == people[2].sub)
            let areCopies = try await stage.value(
                """
                select bool_and(u.raw_user_meta_data = i.identity_data || '{"theme": "dark"}')
                from auth.users as u
                join auth.identities as i on i.user_id = u.id
                """,
                as: Bool.self
            )
            #expect(areCopies)
            let credentialSub = try await stage.value(
                "select apple_sub from accountctl.apple_credentials where user_id = \(people[0].id)",
                as: String.self
            )
            #expect(credentialSub == after.0)
            #expect(try await books.apply().run == .init())
        }
    }

    /// Records that the recipient knows a person under the sub 003.new, with a new relay address.
    private func recordExchange(of person: CredentialStage.Person, _ stage: CredentialStage) async throws {
        try await stage.sql(
            """
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state)
            values (
                \(person.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), 't', '003.new',
                'New@privaterelay.appleid.com', true, 'exchanged'
            )
            """
        )
    }

    /// Records that the recipient knows people, each under a sub of its own.
    private func recordExchanges(of people: [CredentialStage.Person], _ stage: CredentialStage) async throws {
        for person in people {
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, new_sub, state)
                values (
                    \(person.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), 't',
                    \("new " + person.sub), 'exchanged'
                )
                """
            )
        }
    }

    /// Applies the transfer while another session has accounts locked, and returns whom the run left unmoved, and why
    /// it stopped.
    private func apply(
        _ stage: CredentialStage,
        whileLocked accounts: [UUID]
    ) async throws -> (unmoved: [UUID], stoppedBy: String?) {
        var books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
        books.lockPatience = .milliseconds(100)
        let (run, unmoved) = try await stage.admin.withTransaction { [books] connection in
            try connection.execute("select from auth.users where id = any(\(accounts)) for update")
            return try await books.apply()
        }
        for account in unmoved { #expect(account.error.sqlState == .lockNotAvailable) }
        return (unmoved.map(\.user), run.stoppedBy)
    }

    /// The account's copy is of the identity that signed in last: another provider's stays as it is, and so does what is
    /// not the old identity's.
    @Test(arguments: [true, false]) func onlyTheCopyOfTheOldIdentityMoves(_ isOfAnother: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                update auth.users
                set raw_user_meta_data = jsonb_build_object(
                    'sub', \(isOfAnother ? "117" : anna.sub)::text, 'email', 'chosen@example.com', 'provider_id', 'own'
                )
                where id = \(anna.id)
                """
            )
            try await recordExchange(of: anna, stage)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).apply().run.done == 1)
            #expect(try await identity(anna, stage).0 == "003.new")
            let isRight = try await stage.value(
                """
                select raw_user_meta_data = jsonb_build_object(
                    'sub', \(isOfAnother ? "117" : "003.new")::text, 'email', 'chosen@example.com', 'provider_id', 'own'
                )
                from auth.users
                where id = \(anna.id)
                """,
                as: Bool.self
            )
            #expect(isRight)
        }
    }

    /// A transfer replaces the old team's relay address, and the forwarding state of the new one is unknown.
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
            try await recordExchange(of: anna, stage)
            try await stage.sql(
                """
                insert into accountctl.apple_identity_marks (user_id, state, since)
                values (\(anna.id), 'transferred', now())
                """
            )
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            #expect(try await books.status().seen == 1)
            #expect(try await books.apply().run.done == 1)
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

    /// An account that is erased while Apple is asked who it is counts as nobody.
    @Test func anErasedAccountIsNotDone() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            #expect(try await stage.sender().generate().done == 1)
            stage.sandbox.apple.acceptTransfer(of: CredentialStage.clientID)
            let gate = FaultGate()
            stage.sandbox.faults.set(Fault.hold(at: gate).times(1), for: .appleMigration)
            let run = try await withReceiver(stage) { receiver in
                async let run = receiver.exchange()
                await gate.reached()
                try await stage.sql("delete from auth.users where id = \(anna.id)")
                gate.open()
                return try await run
            }
            #expect(run == .init())
        }
    }

    /// An account that is locked, as by its deletion, keeps no other from being moved, and is not taken for moved.
    @Test func aLockedAccountIsPassed() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            try await recordExchanges(of: people, stage)
            let (unmoved, reason) = try await apply(stage, whileLocked: [people[0].id])
            #expect(unmoved == [people[0].id] && reason == nil)
            #expect(try await identity(people[0], stage).0 == people[0].sub)
            #expect(try await identity(people[1], stage).0 == "new " + people[1].sub)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).apply().run.done == 1)
            #expect(try await identity(people[0], stage).0 == "new " + people[0].sub)
        }
    }

    /// An account that the database refuses to change, as by an app's trigger, keeps no other from being moved either.
    @Test func anAccountThatCannotBeChangedIsPassed() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp()]
            try await recordExchanges(of: people, stage)
            try await stage.refuse("auth.identities", "update", of: people[0])
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            let (run, unmoved) = try await books.apply()
            #expect(run.done == 1 && run.stoppedBy == nil)
            #expect(unmoved.map(\.user) == [people[0].id])
            #expect(unmoved.first?.error.sqlState == .foreignKeyViolation)
            #expect(try await identity(people[0], stage).0 == people[0].sub)
            #expect(try await identity(people[1], stage).0 == "new " + people[1].sub)
        }
    }

    /// Many locked accounts keep nobody from being moved either, if others among them are free.
    @Test func manyLockedAccountsArePassed() async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<23 { people.append(try await stage.signUp(credential: false)) }
            try await recordExchanges(of: people, stage)
            let free = [people[11], people[22]]
            let locked = people.map(\.id).filter { !free.map(\.id).contains($0) }
            let (unmoved, reason) = try await apply(stage, whileLocked: locked)
            #expect(unmoved == locked && reason == nil)
            for person in free { #expect(try await identity(person, stage).0 == "new " + person.sub) }
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status().applied == 2)
        }
    }

    /// A run stops if more than twenty accounts in a row cannot be moved, and leaves the rest as it is.
    @Test func tooManyLockedAccountsInARowEndTheRun() async throws {
        try await CredentialStage.with { stage in
            var people: [CredentialStage.Person] = []
            for _ in 0..<22 { people.append(try await stage.signUp(credential: false)) }
            try await recordExchanges(of: people, stage)
            let locked = people.dropLast().map(\.id)
            let (unmoved, reason) = try await apply(stage, whileLocked: locked)
            #expect(unmoved == locked && reason?.contains("more than 20") == true)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status().applied == 0)
        }
    }

    /// One that stays locked does not keep another from being moved that is free by the end.
    @Test func aLockedAccountIsTriedAgainWhateverTheOthersDo() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp(), try await stage.signUp()]
            try await recordExchanges(of: people, stage)
            var books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            // The second is released while the first is tried again, within twice this time, even on a busy machine.
            books.lockPatience = .seconds(3)
            let third: Statement = "select state from accountctl.apple_transfers where user_id = \(people[2].id)"
            let (run, unmoved) = try await stage.admin.withTransaction { [books] connection in
                try connection.execute("select from auth.users where id = \(people[0].id) for update")
                try connection.execute("savepoint second")
                try connection.execute("select from auth.users where id = \(people[1].id) for update")
                let applying = Task { try await books.apply() }
                try await eventually("both are passed") {
                    try await stage.pool.withConnection { try $0.one(third, as: String.self) } == "applied"
                }
                try connection.execute("rollback to savepoint second")
                return try await applying.value
            }
            #expect(run.done == 2)
            #expect(unmoved.map(\.user) == [people[0].id])
            #expect(unmoved.first?.error.sqlState == .lockNotAvailable)
            #expect(try await identity(people[0], stage).0 == people[0].sub)
            #expect(try await identity(people[1], stage).0 == "new " + people[1].sub)
        }
    }

    /// A second account with the new sub, or with the new address, is a conflict that operators must resolve.
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
                    \(anna.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), 't', \(hasSub ? other.sub : "003.new"),
                    (select email from auth.users where id = \(other.id) and not \(hasSub)), 'exchanged'
                )
                """
            )
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            var conflict = TeamTransfer.Run()
            conflict.conflicts = 1
            #expect(try await books.foresee() == conflict)
            #expect(try await books.apply().run == conflict)
            #expect(try await identity(anna, stage).0 == anna.sub)
            #expect(try await books.status().conflict == 1)
            let told = TransferBooks.Conflict(user: anna.id, reason: .secondAccount, other: other.id)
            #expect(try await books.conflicts(atMost: 10) == [told])
        }
    }

    /// People who signed up after the transfer are counted apart from people of the former team without an identifier.
    ///
    /// Only the latter need one.
    @Test func whoCameSinceTheTransferIsToldFromWhoHasNoIdentifier() async throws {
        try await CredentialStage.with { stage in
            let people = [try await stage.signUp(), try await stage.signUp(), try await stage.signUp()]
            let (moved, former, both) = (people[0], people[1], people[2])
            let newcomers = [try await stage.signUp(), try await stage.signUp(), try await stage.signUp()]
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            #expect(try await books.status().waiting == 6)
            try await stage.sql(
                """
                insert into accountctl.apple_transfers
                    (user_id, client_id, target_team, transfer_identifier, state)
                values (
                    \(moved.id), \(stage.transfer.clientID), \(stage.transfer.targetTeam), 't-1', 'generated'
                )
                """
            )
            // An identifier of another person, from another transfer.
            try await stage.sql(
                """
                update auth.identities
                set identity_data = identity_data || '{"custom_claims": {"transfer_sub": "t-2"}}'
                where user_id = \(former.id)
                """
            )
            // A sign-in with the recipient's team created a second account.
            try await stage.sql(
                """
                update auth.identities
                set identity_data = identity_data || '{"custom_claims": {"transfer_sub": "t-1"}}'
                where user_id = \(newcomers[0].id)
                """
            )
            var expected = TeamTransfer.Status()
            (expected.waiting, expected.newcomers, expected.generated) = (4, 1, 1)
            #expect(try await books.status() == expected)

            try await stage.sql(
                """
                update accountctl.apple_transfers
                set state = 'exchanged', new_sub = \(newcomers[1].sub), updated_at = now() - interval '1 hour'
                """
            )
            try await stage.sql("update auth.identities set created_at = now() where user_id = \(newcomers[2].id)")
            // This account still has the former team's identity as well.
            try await stage.link("004.late", to: both, first: false)
            try await stage.sql("update auth.identities set created_at = now() where provider_id = '004.late'")
            (expected.waiting, expected.newcomers, expected.generated, expected.exchanged) = (2, 3, 0, 1)
            #expect(try await books.status() == expected)
        }
    }

    @Test func aFileGoesFromOneTeamToTheOther() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let books = TransferBooks(pool: stage.pool, transfer: stage.transfer)
            let lines = [
                TeamTransfer.Line(user: anna.id, transferIdentifier: "t-1"),
                TeamTransfer.Line(user: ben.id, transferIdentifier: "t-2"),
                TeamTransfer.Line(user: UUID(), transferIdentifier: "t-3"),
            ]
            for new in [2, 0] {
                let taken = try await stage.pool.withTransaction { try stage.transfer.importLines(lines, on: $0) }
                #expect(taken == (new, 1))
            }
            for pageRows in [1, 2, 1000] {
                var exported: [TeamTransfer.Line] = []
                try await books.export(pageRows: pageRows) { exported.append($0) }
                #expect(exported == Array(lines.prefix(2)))
            }
        }
    }
}
