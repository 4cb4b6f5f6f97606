import AccountLifecycle
import Foundation
import Postgres
import Testing

/// The identifiers of an account may change until its row is deleted: by a team transfer, by Apple's notification of a
/// relay address, or by support.
@Suite(.timeLimit(.minutes(5))) struct LateIdentifierTests {
    @Test func anAddressThatATransferGaveSinceTheLockOutIsSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let new = "new@privaterelay.appleid.com"
            try await stage.sql("create table public.letters (old text, new text)")
            try await stage.sql("insert into public.letters values (\(person.email), \(new))")
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            let team = CredentialStage.recipient
            let transfer = TeamTransfer(clientID: Stage.clientID, targetTeam: team)
            try await stage.sql(
                """
                insert into accountctl.apple_transfers (
                    user_id, client_id, target_team, transfer_identifier, new_sub, new_email, is_private_email, state
                )
                values (
                    \(person.id), \(Stage.clientID), \(team), 't', '003.new', \(new), true, 'exchanged'
                )
                """
            )
            #expect(try await TransferBooks(pool: stage.pool, transfer: transfer).apply().run.done == 1)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let found = try await stage.situation(request)?.findings?.map(\.column)
            #expect(found == ["public.letters.new", "public.letters.old"])
        }
    }

    /// The old address was recorded only under the lost key; what the account shows now is searched for, but never
    /// taken for all of its identifiers, however often it is collected.
    @Test func whatWasGivenUpBeforeTheLockOutStaysGivenUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let new = "new-\(person.email)"
            try await stage.sql("create table public.letters (new text)")
            try await stage.sql("insert into public.letters values (\(new))")
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.lockOut)))
            try await stage.sql("update auth.users set email = \(new) where id = \(person.id)")
            #expect(try await stage.proceed(request, withoutIdentifiers: true) == .done)
            let vault = try stage.vaultWithAnotherKey()
            for _ in 0..<2 {
                try await stage.collectAnew(request, under: vault)
            }
            _ = try await DeletionDriver(stage.services(vault: vault)).drive(request)
            let found = try await stage.situation(request)?.findings?.map(\.column)
            #expect(found == ["public.letters.new"])
            try await stage.sql("drop table public.letters")
            #expect(try await DeletionDriver(stage.services(vault: vault)).drive(request) == .ended(.verified))
            #expect(try await stage.proofs(of: request) == Array(repeating: "user_id_only", count: 3))
            let limits = try await stage.value(
                "select document ->> 'outOfScope' from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(limits.contains("only the user id was searched for, and what the account showed last"))
        }
    }

    /// Nothing records former addresses any more, so the receipt must not suggest that they were searched for.
    @Test func theReceiptSaysThatFormerAddressesWereNotSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql("create table public.letters (old text)")
            try await stage.sql("insert into public.letters values (\(person.email))")
            try await stage.sql(
                "update auth.users set email = 'new@example.com', raw_user_meta_data = '{}' where id = \(person.id)"
            )
            try await stage.sql("update auth.identities set identity_data = '{}' where user_id = \(person.id)")
            try await stage.erase(person)
            #expect(try await stage.count("select from public.letters") == 1)
            let limits = try await stage.value(
                "select document ->> 'outOfScope' from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(limits.contains("that the account gave up before its deletion was requested"))
        }
    }

    /// A soft deletion leaves hashes, and nobody can search for what they were made of.
    ///
    /// Where a worker runs, the upkeep collects all identifiers within a minute: a later soft deletion loses nothing.
    @Test(
        arguments: [("request", "user_id_only"), ("collection", "user_id_only"), ("preflight", "searched")]
            as [(String, String)]
    )
    func whatASoftDeletionTookIsNotSaidToBeSearchedFor(_ next: String, _ proof: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            if next == "request" { try await stage.softDelete(person) }
            let request = try await stage.requestByOperator(person)
            if next == "collection" { try await stage.softDelete(person) }
            try await DeletionUpkeep.run(with: stage.services())
            if next == "preflight" { try await stage.softDelete(person) }
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.proofs(of: request) == Array(repeating: proof, count: 3))
        }
    }

    /// Where no worker ran before, the preflight collects the identifiers.
    @Test func whatASoftDeletionTookBeforeThePreflightIsNotSaidToBeSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.softDelete(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.proofs(of: request) == Array(repeating: "user_id_only", count: 3))
        }
    }

    /// What was lost with the key stays lost: what the account shows now is not all of it.
    @Test func whatWasGivenUpWithItsKeyStaysGivenUp() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
            let strange = stage.services(vault: try stage.vaultWithAnotherKey())
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.proceed(request, withoutIdentifiers: true) == .done)
            #expect(try await DeletionDriver(strange).drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
        }
    }

    /// Nothing else shows that the key of these identifiers is in use, or that a worker lacks it.
    @Test func whatIsCollectedAfterALossNeedsItsKeyAsEveryOther() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.lockOut)))
            #expect(try await stage.proceed(request, withoutIdentifiers: true) == .done)
            let vault = try stage.vaultWithAnotherKey()
            let driver = try await stage.collectAnew(request, under: vault)
            let uses = try await CredentialVault(pool: stage.pool, keys: vault.keys).status()
            #expect(uses.map(\.key) == ["other"])
            #expect(uses.map(\.deletionRequests) == [1])

            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.situation(request)?.subject == "other")
            // A preflight does not replace them with its own, either.
            try await stage.agePreflights()
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.subject == "other")
            #expect(try await driver.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
        }
    }

    /// A key that is given up as a whole is no longer in use by any request.
    @Test func whatIsCollectedAfterItsKeyIsForgottenIsCounted() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.lockOut)))
            let actor = Operator(name: "test", hashKey: stage.vault.hashKey)
            let losses = try await stage.pool.withConnection { connection in
                try await ForgottenKey.forget("test1", as: actor, reason: "lost", on: connection)
            }
            #expect(losses.deletionRequests == 1)
            let vault = try stage.vaultWithAnotherKey()
            let books = CredentialVault(pool: stage.pool, keys: vault.keys)
            let left = try await books.status()
            #expect(left.map(\.key) == ["other"])
            let driver = try await stage.collectAnew(request, under: vault)
            let uses = try await books.status()
            #expect(uses.map(\.deletionRequests) == [1])
            #expect(try await driver.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "not_verifiable")
        }
    }

    /// The worker could not add to identifiers that it cannot open, and the account's last address would not be
    /// searched for.
    @Test func aWorkerWithoutTheKeyLeavesTheAccount() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.deleteRows)))
            let strange = stage.services(vault: try stage.vaultWithAnotherKey())
            _ = try await DeletionDriver(strange).drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.code == .sealingKeyMissing)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "ok")
        }
    }
}

extension Stage {
    /// Collects what the account shows now under a vault's key, and stops before the lock-out.
    ///
    /// - Returns: The driver that continues the request.
    @discardableResult
    fileprivate func collectAnew(_ request: UUID, under vault: IdentifierVault) async throws -> DeletionDriver {
        try await agePreflights()
        let probe = SimulatedCrash.once(at: .before(.lockOut))
        let driver = DeletionDriver(services(vault: vault, probe: probe))
        await #expect(throws: SimulatedCrash.self) { try await driver.drive(request) }
        return driver
    }

    /// Makes every preflight too old for a lock-out.
    fileprivate func agePreflights() async throws {
        try await sql(
            """
            update accountctl.deletion_steps
            set started_at = started_at - interval '1 hour', finished_at = finished_at - interval '1 hour'
            where step = 'preflight'
            """
        )
    }
}
