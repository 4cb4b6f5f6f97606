import AccountLifecycle
import Postgres
import Sandbox
import Testing

/// A grant that Apple issues while the account is being erased is revoked, handed over or reported.
@Suite(.timeLimit(.minutes(5))) struct LateGrantTests {
    @Test func aGrantOfACodeThatComesAfterRevokingIsRevoked() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                #expect(try await stage.outcome(.revokeApple, request) == "not_held")
                let code = try await stage.submitCode(of: person)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.apple.liveConsents == 0)
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
        }
    }

    /// A late grant still counts as the account's own if the tables are so large that its rows are deleted in batches.
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
                let code = try await stage.submitCode(of: person)
                #expect(try await CodeExchange(stage.services()).run(code) == .settled(.exchanged))
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.apple.liveConsents == consents - 1)
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
        }
    }

    /// A revocation settles the lost and unknown grants of its own client alone.
    ///
    /// It ends the authorisation of one app and its group, and which other client ids are in the group is unknown.
    @Test(
        arguments: [
            (.lost, Stage.clientID, "revoked"), (.lost, "com.example.other", "not_revoked"),
            (.unknown, Stage.clientID, "revoked"), (.unknown, "com.example.other", "grant_unknown"),
            (.unknown, nil, "revoked"),
        ] as [(UnheldGrant, String?, String)]
    )
    func revokingEndsWhatWasLostOrUnknownOfItsClientAlone(_ grant: UnheldGrant, _ clientID: String?, _ expected: String)
        async throws
    {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.add(grant, of: person, clientID: clientID)
            try await stage.holdCredential(of: person)
            let request = try await stage.erase(person)
            #expect(try await stage.appleTold(request) == [expected, expected, expected])
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// A revocation recorded without a client id covers all of them.
    ///
    /// Such a record comes from an older worker, which stored one time for all client ids.
    @Test func aRevocationRecordedWithoutItsClientStandsForAll() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.add(.lost, of: person, clientID: "com.example.other")
            try await stage.holdCredential(of: person)
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                try await stage.sql("update accountctl.deletion_requests set apple_revoked = '{}'")
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.appleTold(request) == ["revoked", "revoked", "revoked"])
        }
    }

    /// The grant of a second linked Apple Account is reported as still live.
    ///
    /// The credential of the second replaces that of the first, whose grant is then no longer held but still live.
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
            let request = try await stage.erase(person)
            let expected = movedToAnotherTeam ? "revoked" : "not_revoked"
            #expect(try await stage.appleTold(request) == [expected, expected, expected])
        }
    }

    /// The grant of an account that was deleted elsewhere, such as in Supabase's dashboard, is revoked as well.
    @Test func aGrantOfAnAccountThatSomebodyElseDeletedIsRevokedToo() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let code = try await stage.submitCode(of: person)
            let outcome = try await stage.exchange(code) {
                try await stage.sql("delete from auth.users where id = \(person.id)")
            }
            #expect(outcome == .handedOver)
            #expect(try await stage.retryRevocations() == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }

    /// A credential that an exchange replaces while it is being revoked leaves a new one, which is revoked in turn.
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
}
