import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// Codes and exchanges that come while the account is being erased: whatever Apple grants is revoked, handed over or
/// told.
@Suite(.timeLimit(.minutes(5))) struct LateGrantTests {
    /// What the request, its step and its receipt say of Apple.
    private func told(_ request: UUID, on stage: Stage) async throws -> [String?] {
        try await stage.value(
            """
            select array[
                r.apple_outcome,
                (select outcome from accountctl.deletion_steps as s where s.request_id = r.id and s.step = 'revoke_apple'),
                (select document ->> 'apple' from accountctl.deletion_receipts as d where d.request_id = r.id)
            ]
            from accountctl.deletion_requests as r
            where r.id = \(request)
            """,
            as: [String?].self
        )
    }

    private func submit(_ person: Person, on stage: Stage) async throws -> Int64 {
        let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
        _ = try await stage.call(
            person,
            "select public.submit_apple_authorization_code(\(code), \(Stage.clientID))"
        )
        return try await stage.value("select max(id) from accountctl.authorization_codes", as: Int64.self)
    }

    private func expire(_ code: Int64, triedBefore: String, on stage: Stage) async throws {
        try await stage.sql(
            """
            update accountctl.authorization_codes
            set expires_at = now() - interval '1 second', tried_at = now() - \(triedBefore)::interval
            where id = \(code)
            """
        )
    }

    @Test func aGrantOfACodeThatComesAfterRevokingIsRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                #expect(try await stage.outcome(.revokeApple, request) == "not_held")
                let code = try await submit(person, on: stage)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
        }
    }

    /// With so many rows in the tables of identities and sessions that those of an account would be emptied in batches.
    @Test(arguments: [DeletionPoint.before(.deleteRows), .middle(.deleteRows)])
    func aLateGrantIsTheAccountsOwnHoweverManyIdentitiesThereAre(_ moment: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for _ in 0..<3 { _ = try await stage.signUp() }
            let consents = stage.sandbox.apple.liveConsents
            try await stage.admin.withConnection { try $0.execute("analyze auth.identities, auth.sessions") }
            var policy = Stage.swift
            policy.batchRows = 1
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, policy, once: moment) {
                let code = try await submit(person, on: stage)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.apple.liveConsents == consents - 1)
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
        }
    }

    @Test func aCodeThatIsNotExchangedYetIsWaitedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                _ = try await submit(person, on: stage)
            }
            guard case .until = pause else {
                Issue.record("did not wait: \(pause)")
                return
            }
            #expect(try await stage.state(request) == "running")
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            let code = try await stage.value("select max(id) from accountctl.authorization_codes", as: Int64.self)
            #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Revoking ends the authorisation of one app and its group; which others are in the group nobody here knows.
    @Test(
        arguments: [
            ("lost", Stage.clientID, "revoked"), ("lost", "com.example.other", "not_revoked"),
            ("unknown", Stage.clientID, "revoked"), ("unknown", "com.example.other", "grant_unknown"),
            ("unknown", nil, "revoked"),
        ] as [(String, String?, String)]
    )
    func revokingEndsWhatWasLostOrUnknownOfItsClientAlone(_ grant: String, _ clientID: String?, _ expected: String)
        async throws
    {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            if grant == "lost" {
                try await stage.sql(
                    "insert into accountctl.lost_grants (user_id, client_id) values (\(person.id), \(clientID))"
                )
            } else {
                try await stage.sql(
                    """
                    insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                    values (\(person.id), \(clientID), 'grant_unknown', now())
                    """
                )
            }
            try await stage.holdCredential(of: person)
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == [expected, expected, expected])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Recorded by a worker that knew one moment for all client ids.
    @Test func aRevocationRecordedWithoutItsClientStandsForAll() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql(
                "insert into accountctl.lost_grants (user_id, client_id) values (\(person.id), 'com.example.other')"
            )
            try await stage.holdCredential(of: person)
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                try await stage.sql("update accountctl.deletion_requests set apple_revoked = '{}'")
            }
            #expect(pause == .ended(.verified))
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
        }
    }

    /// Two Apple Accounts that are linked to one account: the credential of the first makes room for the second's, and
    /// its grant lives.
    @Test(arguments: [false, true])
    func theGrantOfAnotherAppleAccountIsToldToLive(_ movedToAnotherTeam: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.holdCredential(of: person)
            let second = try stage.sandbox.apple.signIn(clientID: Stage.clientID, email: "second@example.com").sub
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values (\(second), \(person.id), jsonb_build_object('sub', \(second)::text), 'apple', now())
                """
            )
            if movedToAnotherTeam {
                try await stage.sql(
                    """
                    insert into accountctl.apple_transfers
                        (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state)
                    values (\(person.id), \(Stage.clientID), 'RECIPIENT1', \(person.sub), 't', \(second), 'exchanged')
                    """
                )
            }
            try await stage.holdCredential(of: Person(id: person.id, email: person.email, sub: second))
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let expected = movedToAnotherTeam ? "revoked" : "not_revoked"
            #expect(try await told(request, on: stage) == [expected, expected, expected])
        }
    }

    /// It has five minutes, and a pass over a large table may have half an hour.
    @Test func aCodeIsExchangedWhileErasuresHoldEveryConnection() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try stage.sandbox.apple.issueCode(clientID: Stage.clientID, sub: person.sub)
            _ = try await stage.call(
                person,
                "select public.submit_apple_authorization_code(\(code), \(Stage.clientID))"
            )
            let id = try await stage.value("select max(id) from accountctl.authorization_codes", as: Int64.self)
            try await stage.pool.withConnection { _ in
                try await stage.pool.withConnection { _ in
                    try await stage.pool.withConnection { _ in
                        let outcome = try await CodeExchange(stage.services(codes: stage.admin)).run(id)
                        #expect(outcome == .settled(.exchanged))
                    }
                }
            }
        }
    }

    /// A code that nobody exchanges ends by itself, without the upkeep.
    @Test func aCodeThatExpiresUnusedHoldsNobodyUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                let code = try await submit(person, on: stage)
                try await expire(code, triedBefore: "0", on: stage)
            }
            #expect(pause == .ended(.verified))
            #expect(try await told(request, on: stage) == ["not_held", "not_held", "not_held"])
        }
    }

    @Test(arguments: [false, true])
    func anUnknownGrantAfterRevokingIsTold(_ heldBefore: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            if heldBefore { try await stage.holdCredential(of: person) }
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                let code = try await submit(person, on: stage)
                let fault = stage.sandbox.faults.set(.drop(.before), for: .appleToken)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.grantUnknown))
                stage.sandbox.faults.clear(fault)
            }
            #expect(pause == .ended(.verified))
            // What was revoked before is not this grant.
            #expect(try await told(request, on: stage) == ["grant_unknown", "grant_unknown", "grant_unknown"])
        }
    }

    /// It would keep the account's row from a grant that Apple gives once.
    @Test func aCodeIsWaitedForBeforeTheDeleteIsTriedOnceMore() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let code = try await submit(person, on: stage)
            try await stage.refuseUntried("P0001")
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            // Whoever has to decide can still cancel.
            let begun: Statement = "select from accountctl.deletion_steps where step = 'revoke_apple'"
            #expect(try await stage.count(begun) == 0)
            try await stage.sql("drop trigger refuse on public.profiles")
            #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
        }
    }

    /// Nothing was asked of Apple yet.
    @Test func whoeverWaitsForACodeBeforeRevokingCanBeCancelled() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            _ = try await submit(person, on: stage)
            _ = try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .codeUnderWay)
            let act = try await stage.pool.withConnection { connection in
                try await stage.desk.cancel(request, reason: "mistake", on: connection)
            }
            #expect(act == .done)
        }
    }

    @Test func anExchangeThatIsAnsweredAfterItsCodeExpiredIsWaitedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await submit(person, on: stage)
            let request = try await stage.request(person)
            let services = stage.services { point in
                guard point == .afterExchange else { return }
                try await expire(code, triedBefore: "5 seconds", on: stage)
                try await DeletionUpkeep.run(with: stage.services())
                guard case .until = try await stage.drive(request) else {
                    Issue.record("did not wait for the answer")
                    return
                }
                #expect(try await stage.situation(request)?.code == .codeUnderWay)
            }
            #expect(try await CodeExchange(services).run(code) == .settled(.exchanged))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await told(request, on: stage) == ["revoked", "revoked", "revoked"])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// Given up as unknown, since no answer could come any more, and then one comes: before and after the receipt.
    @Test(arguments: [DeletionPoint.after(.deleteRows), .after(.receipt)])
    func anAnswerThatComesToAnErasedAccountIsHandedOver(_ until: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await submit(person, on: stage)
            let request = try await stage.request(person)
            let services = stage.services { point in
                guard point == .afterExchange else { return }
                try await expire(code, triedBefore: "1 hour", on: stage)
                try await stage.driveToCrash(request, SimulatedCrash.once(at: until))
                #expect(try await stage.outcome(.revokeApple, request) == "grant_unknown")
                #expect(try await stage.count("select from auth.users where id = \(person.id)") == 0)
            }
            #expect(try await CodeExchange(services).run(code) == .handedOver)
            #expect(try await stage.drive(request) == .ended(.verified))
            let receipt = until == .after(.receipt) ? "grant_unknown" : "pending"
            #expect(try await told(request, on: stage) == ["pending", "pending", receipt])
            #expect(try await stage.traces(of: person) == "")
            #expect(try await stage.retryRevocations() == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await told(request, on: stage)[0] == "revoked")
        }
    }

    /// Nothing that is handed over later tells what became of the rest.
    @Test(arguments: [true, false])
    func anAnswerThatComesLateTellsNothingOfWhatElseIsUnknown(_ hasVanished: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            if hasVanished {
                try await stage.holdCredential(of: person)
            } else {
                try await stage.sql(
                    """
                    insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                    values (\(person.id), 'com.example.other', 'grant_unknown', now())
                    """
                )
            }
            let code = try await submit(person, on: stage)
            let request = try await stage.request(person)
            let services = stage.services { point in
                guard point == .afterExchange else { return }
                if hasVanished {
                    try await stage.sql("delete from auth.users where id = \(person.id)")
                } else {
                    try await expire(code, triedBefore: "1 hour", on: stage)
                }
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await told(request, on: stage)[0] == "grant_unknown")
            }
            #expect(try await CodeExchange(services).run(code) == .handedOver)
            #expect(try await told(request, on: stage)[0] == "pending")
            #expect(try await stage.retryRevocations() == 0)
            #expect(try await told(request, on: stage)[0] == "grant_unknown")
        }
    }

    /// Revoking had told of the first alone, which its late answer takes back.
    @Test func anAnswerThatComesLateTellsNothingOfWhatBecameUnknownAfterRevoking() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await submit(person, on: stage)
            let request = try await stage.request(person)
            let services = stage.services { point in
                guard point == .afterExchange else { return }
                try await expire(code, triedBefore: "1 hour", on: stage)
                let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                    try await stage.sql(
                        """
                        insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                        values (\(person.id), 'com.example.other', 'grant_unknown', now())
                        """
                    )
                }
                #expect(pause == .ended(.verified))
                #expect(try await told(request, on: stage)[0] == "grant_unknown")
            }
            #expect(try await CodeExchange(services).run(code) == .handedOver)
            #expect(try await stage.retryRevocations() == 0)
            #expect(try await told(request, on: stage)[0] == "grant_unknown")
        }
    }

    /// In Supabase's dashboard, for one.
    @Test func aGrantOfAnAccountThatSomebodyElseDeletedIsRevokedToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await submit(person, on: stage)
            let services = stage.services { point in
                guard point == .afterExchange else { return }
                try await stage.sql("delete from auth.users where id = \(person.id)")
            }
            #expect(try await CodeExchange(services).run(code) == .handedOver)
            #expect(try await stage.retryRevocations() == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// The exchange puts its credential in the place of the one that is being revoked.
    @Test func aCredentialReplacedWhileItIsRevokedIsRevokedInItsTurn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.holdCredential(of: person)
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .middle(.revokeApple)) {
                try await stage.holdCredential(of: person)
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.journal.count(.appleRevoke) == 2)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// The account's row is locked by its erasure: whoever comes with a code waits, and is told that there is no
    /// account.
    @Test func aCodeThatWaitsForTheErasureIsRefused() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let late = try await stage.admin.withTransaction { connection in
                try connection.execute("delete from auth.users where id = \(person.id)")
                let late = Task {
                    await sqlState {
                        try await stage.call(person, "select public.submit_apple_authorization_code('late')")
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                return late
            }
            #expect(await late.value == "PT410")
        }
    }
}
