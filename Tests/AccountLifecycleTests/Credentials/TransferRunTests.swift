import Foundation
import Postgres
import Sandbox
import SignInWithApple
import Testing

@testable import AccountLifecycle

/// Runs that ask Apple about one user after another: where they begin, continue and stop.
@Suite(.timeLimit(.minutes(5))) struct TransferRunTests {
    /// A token that expires in the middle of a run causes no user to be recorded as refused.
    ///
    /// Apple answers `invalid_request`, as it does for a user who revoked.
    @Test func aTokenThatDiesInTheMiddleCostsNobodyTheMove() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<4 { _ = try await stage.signUp() }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let apple = stage.sandbox.apple
            let run = try await stage.sender().generate { count in
                if count == 2 { apple.endAccessTokens() }
            }
            #expect(run.done == 4)
            #expect(run.refused == 0)
            #expect(run.stoppedBy == nil)
        }
    }

    /// A user about whom Apple gave no answer is asked about again, after the run has passed that user's page.
    @Test func whomAppleGaveNoAnswerAboutIsAskedAboutAgain() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<7 { _ = try await stage.signUp() }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            stage.sandbox.faults.set(.status(503).times(2, after: 2), for: .appleMigration)
            let run = try await stage.sender().generate()
            #expect(run.stoppedBy == nil)
            #expect(run.done == 7)
            #expect(try await stage.sender().generate() == .init())
        }
    }

    /// Each page begins where the previous one ended, whichever users have moved already.
    @Test func aPageReadsNobodyOfThoseBefore() async throws {
        try await CredentialStage.with { stage in
            let ids = (1...6).compactMap { UUID(uuidString: "00000000-0000-0000-0000-00000000000\($0)") }
            var people: [CredentialStage.Person] = []
            for id in ids { people.append(try await stage.signUp(id: id)) }
            let sender = SendingTeam(
                client: try #require(stage.apple[CredentialStage.clientID]),
                transfer: stage.transfer,
                retriedBefore: nil
            )
            try await stage.admin.withConnection { [people] connection in
                for person in people.prefix(4) {
                    _ = try sender.record("t", of: person.id, subject: person.sub, on: connection)
                }
            }
            // All identities of an account are on one page.
            for other in ["002.one", "002.two"] { try await stage.link(other, to: people[4], first: true) }
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

    /// Many refusals in a row are not recorded, even in a small app, since a faulty request looks like users who
    /// revoked.
    @Test(arguments: [1, 3, TransferCourse.refusalsInARow + 2])
    func manyRefusedInARowAreNotBelieved(_ people: Int) async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<people { _ = try await stage.signUp(credential: false) }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: "ANOTHER123")
            let run = try await stage.sender().generate()
            #expect(run.done == 0)
            #expect(run.refused == 0)
            #expect(run.doubted == min(people, TransferCourse.refusalsInARow))
            #expect(run.stoppedBy?.contains("invalid_request") == true)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status().refused == 0)
        }
    }

    /// An exchange with the sending team's key, for which Apple refuses every user, records no refusal.
    @Test func anExchangeByTheSenderWritesNobodyOff() async throws {
        try await CredentialStage.with { stage in
            for _ in 0..<2 { _ = try await stage.signUp() }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            #expect(try await stage.sender().generate().done == 2)
            stage.sandbox.apple.acceptTransfer(of: CredentialStage.clientID)
            let run = try await stage.sender().exchange()
            #expect(run.stoppedBy?.contains("invalid_request") == true)
            #expect(run.doubted == 2)
            var expected = TeamTransfer.Status()
            expected.generated = 2
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status() == expected)
        }
    }

    @Test func whoWasRefusedCanBeAskedAboutAgain() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            // A user for whom Apple returns an identifier shows that the request is correct.
            _ = try await stage.signUp()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            stage.sandbox.apple.stopUsing(sub: ben.sub, clientID: CredentialStage.clientID)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let first = try await stage.sender().generate()
            #expect(first.stoppedBy == nil)
            #expect(first.done == 1)
            #expect(first.refused == 2)
            _ = try stage.sandbox.apple.signIn(clientID: CredentialStage.clientID, sub: anna.sub)
            #expect(try await stage.sender().generate() == .init())
            let run = try await stage.sender(retriesRefused: true).generate()
            #expect(run.done == 1)
            #expect(run.refused == 1)
            var expected = TeamTransfer.Status()
            expected.generated = 2
            expected.refused = 1
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status() == expected)
        }
    }

    /// If no user is left who could show that the request is correct, an operator can have the refusals recorded.
    @Test func refusalsOfEverybodyAreRecordedByOrder() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            #expect(try await stage.sender().generate().doubted == 1)
            let ordered = try stage.sender(retriesRefused: true)
            // The exchange has nothing to ask Apple about a user without an identifier.
            #expect(try await ordered.exchange() == .init())
            let run = try await ordered.generate()
            #expect(run.refused == 1)
            #expect(run.stoppedBy == nil)
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status().refused == 1)
        }
    }

    /// Many refused users of another team's app do not stop a run while a witness shows that the request is correct.
    ///
    /// The run asks Apple about the witness in between the refusals.
    @Test(arguments: ["named", "held"])
    func manyUsersOfAnotherTeamKeepNobodyFromBeingMoved(_ witness: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: witness == "held")
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            if witness == "named" {
                #expect(try await stage.sender().generate().done == 1)
            } else {
                try await stage.sql("update accountctl.apple_credentials set last_live_at = now()")
            }
            try await signUpWithAnotherTeam(50, stage)
            let run = try await stage.sender().generate()
            #expect(run.stoppedBy == nil)
            #expect(run.refused == 50)
            var expected = TeamTransfer.Status()
            expected.generated = 1
            expected.refused = 50
            #expect(try await TransferBooks(pool: stage.pool, transfer: stage.transfer).status() == expected)
            let named: Statement = "select old_sub from accountctl.apple_transfers where state = 'generated'"
            #expect(try await stage.value(named, as: String.self) == anna.sub)
        }
    }

    /// If nothing shows that the request is correct, each start of a run begins at other users.
    @Test func aRunDoesNotBeginWithTheSameUsersForEver() async throws {
        try await CredentialStage.with { stage in
            let last = try #require(UUID(uuidString: "ffffffff-ffff-4fff-bfff-ffffffffffff"))
            _ = try await stage.signUp(id: last, credential: false)
            let first: Statement = "('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid"
            try await signUpWithAnotherTeam(25, stage, ids: first)
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let run = try await stage.sender().generate()
            #expect(run.stoppedBy == nil)
            #expect(run.done == 1)
            #expect(run.refused == 25)
        }
    }

    /// An account that is locked, as by its deletion, is passed, whatever Apple answers about its user, and left to
    /// another run.
    @Test(arguments: [true, false]) func aLockedAccountIsPassed(_ isRefused: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            for _ in 0..<3 { _ = try await stage.signUp() }
            if isRefused { stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID) }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let passing = try await generate(stage, whileLocked: [anna.id])
            #expect(passing.done == 3)
            #expect(passing.refused == 0)
            #expect(passing.stoppedBy?.hasPrefix("1 account is held locked") == true)
            let rest = try await stage.sender().generate()
            #expect(rest.done == (isRefused ? 0 : 1))
            #expect(rest.refused == (isRefused ? 1 : 0))
            #expect(rest.stoppedBy == nil)
        }
    }

    /// Many locked accounts are passed, too, if others among them are free; if more than twenty in a row are locked, the
    /// run ends and says so.
    @Test(arguments: [true, false]) func manyLockedAccountsArePassed(_ isOneFree: Bool) async throws {
        try await CredentialStage.with { stage in
            // Each run begins behind all of them.
            let ids = (10..<33).compactMap { UUID(uuidString: "00000000-0000-0000-0000-0000000000\($0)") }
            for id in ids { _ = try await stage.signUp(id: id, credential: false) }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let locked = isOneFree ? ids.filter { $0 != ids[11] } : ids
            let run = try await generate(stage, whileLocked: locked)
            #expect(run.done == (isOneFree ? 1 : 0))
            #expect(run.stoppedBy?.hasPrefix("\(isOneFree ? 22 : 21) accounts are held locked") == true)
            #expect(stage.sandbox.journal.count(.appleMigration) == (isOneFree ? 23 : 21))
        }
    }

    /// What Apple says of a locked account proves the request as any answer does: nobody whom it refuses afterwards
    /// stays in doubt.
    @Test func theAnswerAboutALockedAccountIsProof() async throws {
        try await CredentialStage.with { stage in
            // Each run begins between the two, so anna comes first.
            let id = try #require(UUID(uuidString: "ffffffff-ffff-4fff-bfff-ffffffffffff"))
            let anna = try await stage.signUp(id: id, credential: false)
            try await signUpWithAnotherTeam(1, stage, ids: "'00000000-0000-0000-0000-000000000001'::uuid")
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let run = try await generate(stage, whileLocked: [anna.id])
            #expect(run.done == 0)
            #expect(run.refused == 1)
            #expect(run.doubted == 0)
            #expect(run.stoppedBy?.hasPrefix("1 account is held locked") == true)
        }
    }

    /// An account that is erased while Apple is asked about it ends no run.
    @Test(arguments: [true, false]) func anErasedAccountEndsNoRun(_ isRefused: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            if isRefused { stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: CredentialStage.clientID) }
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            let gate = FaultGate()
            stage.sandbox.faults.set(Fault.hold(at: gate).times(1), for: .appleMigration)
            // A refusal is recorded at once only by order.
            let sender = try stage.sender(retriesRefused: isRefused)
            async let run = sender.generate()
            await gate.reached()
            try await stage.sql("delete from auth.users where id = \(anna.id)")
            gate.open()
            #expect(try await run == .init())
        }
    }

    /// An identity that outlived its account, as after a restore without triggers, is asked about once.
    @Test func anIdentityWithoutAnAccountEndsARun() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            stage.sandbox.apple.startTransfer(of: CredentialStage.clientID, to: CredentialStage.recipient)
            try await stage.admin.withTransaction { connection in
                try connection.execute("set local session_replication_role = replica")
                try connection.execute("delete from auth.users where id = \(anna.id)")
            }
            #expect(try await stage.sender().generate() == .init())
            #expect(stage.sandbox.journal.count(.appleMigration) == 1)
        }
    }

    /// Runs the sending team's side while another session has accounts locked.
    private func generate(_ stage: CredentialStage, whileLocked accounts: [UUID]) async throws -> TeamTransfer.Run {
        var sender = try stage.sender()
        sender.lockPatience = .milliseconds(100)
        return try await stage.admin.withTransaction { [sender] connection in
            try connection.execute("select from auth.users where id = any(\(accounts)) for update")
            return try await sender.generate()
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
}
