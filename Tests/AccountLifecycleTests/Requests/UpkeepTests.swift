import AccountLifecycle
import Foundation
import Postgres
import Testing

/// Upkeep that runs once a minute for all requests.
@Suite(.timeLimit(.minutes(5))) struct UpkeepTests {
    /// The account is deleted in Supabase's dashboard during grace, while its address remains in a table of the app.
    @Test(arguments: [true, false])
    func whatToSearchForIsCollectedWhenTheRequestIsMade(_ ran: Bool) async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.kept (note text)")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.kept values (\(person.email))")
            let request = try Opened(try await stage.call(person, "select public.request_account_deletion()")).request
            if ran { try await DeletionUpkeep.run(with: stage.services()) }
            try await stage.sql("delete from auth.users where id = \(person.id)")
            try await stage.sql("update accountctl.deletion_requests set run_after = now()")
            let pause = try await stage.drive(request)
            if ran {
                #expect(try await stage.state(request) == "residue")
                #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.kept.note"])
                try await stage.sql("delete from public.kept")
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await stage.outcome(.verify, request) == "ok")
            } else {
                // The identifiers to search for are lost, and the receipt says so.
                #expect(pause == .ended(.verified))
                #expect(try await stage.outcome(.verify, request) == "not_verifiable")
            }
        }
    }

    /// The person cancelled, and the account was deleted elsewhere later.
    @Test func aCancelledRequestForgetsWhoHasGone() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            _ = try await stage.call(person, "select public.request_account_deletion()")
            _ = try await stage.call(person, "select public.cancel_account_deletion()")
            let row: Statement = """
                select user_id is null, subject_hash, cancelled_by is null
                from accountctl.deletion_requests
                """
            try await stage.sql("update accountctl.deletion_requests set cancelled_by = '\\x01'")
            try await stage.sql("delete from auth.users where id = \(person.id)")
            try await DeletionUpkeep.run(with: stage.services())
            let (isNameless, subject, isByNobody) = try await stage.admin.withConnection { connection in
                try connection.one(row, as: (Bool, [UInt8]?, Bool).self)
            }
            #expect(isNameless && isByNobody)
            #expect(subject == stage.vault.subject(person.id).bytes)
        }
    }

    /// A worker of an earlier release, which does not know of that time, may end a request during an upgrade.
    @Test func whenAnErasedAccountWasCreatedIsForgotten() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            try await stage.sql("update accountctl.deletion_requests set account_created_at = now()")
            try await DeletionUpkeep.run(with: stage.services())
            let left: Statement = "select from accountctl.deletion_requests where account_created_at is not null"
            #expect(try await stage.count(left) == 0)
        }
    }

    @Test func whatHasServedGoesAndWhatDecidesSomethingStays() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql(
                """
                insert into accountctl.authorization_codes (user_id, state, settled_at)
                select \(person.id), s.state, now() - s.age::interval
                from (values
                    ('exchanged', '2 days'), ('refused', '2 days'), ('expired', '2 days'), ('exchanged', '1 hour'),
                    ('grant_unknown', '3 days'), ('grant_unknown', '2 days')
                ) as s (state, age)
                """
            )
            try await stage.sql(
                """
                insert into accountctl.credential_events (source, kind, user_id, received_at, handled_at, outcome)
                values
                    ('device', 'state_revoked', null, now() - interval '91 days', now(), 'unknown_account'),
                    ('device', 'state_revoked', null, now() - interval '89 days', now(), 'unknown_account'),
                    ('device', 'state_revoked', null, now() - interval '91 days', null, null),
                    ('device', 'state_revoked', \(person.id), now() - interval '91 days', now(), 'done')
                """
            )
            try await DeletionUpkeep.run(with: stage.services())
            let left = try await stage.value(
                """
                select string_agg(state || ' ' || extract(day from now() - settled_at), ', ' order by id)
                from accountctl.authorization_codes
                """,
                as: String.self
            )
            #expect(left == "exchanged 0, grant_unknown 2")
            #expect(try await stage.count("select from accountctl.credential_events") == 3)
        }
    }

    /// A later question is answered as if there were no such request.
    @Test func aStatusTokenIsKeptForAsLongAsSomebodyMayAsk() async throws {
        try await Stage.with { stage in
            for (name, ended) in [("old", "91 days"), ("new", "89 days"), ("open", nil)] {
                let person = try await stage.signUp()
                let request = try Opened(try await stage.call(person, "select public.request_account_deletion()"))
                    .request
                try await stage.sql(
                    """
                    update accountctl.deletion_status_tokens
                    set created_at = now() - interval '100 days', token_hash = sha256(convert_to(\(name), 'UTF8'))
                    where request_id = \(request)
                    """
                )
                guard let ended else { continue }
                try await stage.sql(
                    """
                    update accountctl.deletion_requests
                    set state = 'cancelled', finished_at = now() - \(ended)::interval, sealed_identifiers = null
                    where id = \(request)
                    """
                )
            }
            try await DeletionUpkeep.run(with: stage.services())
            let left = try await stage.value(
                """
                select string_agg(name, ' ' order by name)
                from unnest(array['new', 'old', 'open']) as name
                join accountctl.deletion_status_tokens as t on t.token_hash = sha256(convert_to(name, 'UTF8'))
                """,
                as: String.self
            )
            #expect(left == "new open")
        }
    }

    /// An account that cancels and lives on does not leave its request behind forever.
    @Test func aCancelledRequestIsKeptForAQuarter() async throws {
        try await Stage.with { stage in
            var requests: [String: UUID] = [:]
            let all = [
                ("old", "91 days"), ("gone", "91 days"), ("gone lately", "89 days"), ("revoking", "91 days"),
                ("new", "89 days"), ("open", nil),
            ]
            for (name, ended) in all {
                let person = try await stage.signUp(name)
                let request = try Opened(try await stage.call(person, "select public.request_account_deletion()"))
                    .request
                requests[name] = request
                guard let ended else { continue }
                try await stage.sql(
                    """
                    update accountctl.deletion_requests
                    set state = 'cancelled', finished_at = now() - \(ended)::interval, sealed_identifiers = null
                    where id = \(request)
                    """
                )
                if name.hasPrefix("gone") { try await stage.sql("delete from auth.users where id = \(person.id)") }
            }
            try await stage.sql(
                """
                insert into accountctl.pending_revocations
                    (request_id, client_id, sealed_token, sealing_key_id, give_up_at)
                values (\(requests["revoking"]), 'com.example.app', 'sealed', 'test1', now() + interval '1 day')
                """
            )
            try await DeletionUpkeep.run(with: stage.services())
            let left = try await stage.admin.withConnection { connection in
                try connection.query("select id from accountctl.deletion_requests", as: UUID.self)
            }
            #expect(
                requests.filter { left.contains($0.value) }.keys.sorted()
                    == ["gone lately", "new", "open", "revoking"]
            )
        }
    }

    /// A worker whose key file is older than another's, as during a rotation, must not destroy what the others can
    /// open.
    @Test func aCredentialUnderAMissingKeyIsKeptUntilApplesTimeIsOver() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.revokeApple)))
            let strange = DeletionDriver(stage.services(vault: try stage.vaultWithAnotherKey()))
            for _ in 0..<8 {
                let situation = try await strange.drive(request).failure
                #expect(situation.code == .sealingKeyMissing)
            }
            #expect(try await stage.count("select from accountctl.apple_credentials") == 1)
            let waits: Statement = "select from accountctl.deletion_requests where apple_waiting_since is not null"
            #expect(try await stage.count(waits) == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
        }
    }
}
