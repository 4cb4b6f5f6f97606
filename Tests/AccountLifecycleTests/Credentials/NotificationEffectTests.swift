import Postgres
import Sandbox
import Testing

@testable import AccountLifecycle

/// The effects of a notification on the account that it is about.
@Suite(.timeLimit(.minutes(5))) struct NotificationEffectTests {
    @Test func consentRevokedSignsOutAndForgets() async throws {
        try await CredentialStage.with { stage in
            let (anna, ben) = (try await stage.signUp(), try await stage.signUp())
            let services = stage.services()
            let intake = NotificationIntake(services)
            let told = try stage.told(about: anna.sub)
            #expect(try await intake.take(told) == .stored(events: 1))
            #expect(try await stage.traces(of: anna) == .init())
            try await stage.work(services)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "consent_revoked")
            )
            // A bystander keeps everything.
            #expect(try await stage.traces(of: ben) == .init())
            #expect(try await stage.outcomes() == ["consent-revoked done"])

            // A second delivery is recognised as a duplicate and changes nothing.
            #expect(try await intake.take(told) == .duplicate)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
        }
    }

    /// A credential for another app is kept and checked with Apple, since consent belongs to one app or its group.
    ///
    /// The kept credential may still have to be revoked.
    @Test func anotherAppsCredentialIsKeptAndAskedAbout() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let web = "com.example.web"
            try await stage.holdBesides(web, of: anna)
            try await stage.sql("update accountctl.apple_credentials set check_after = now() + interval '1 day'")
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            let left = try await stage.value(
                "select string_agg(client_id, ',') from accountctl.apple_credentials",
                as: String?.self
            )
            #expect(left == web)
            #expect(try await CredentialChecks(services).sweep().live == 1)

            // The next time Apple ends both grants, and the check finds that the second has ended.
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: web)
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await stage.work(services)
            #expect(try await CredentialChecks(services).sweep().gone == 1)
            try await stage.work(services)
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }

    /// A newer sign-in to another team's app does not make an event stale, since a sub belongs to one team.
    @Test func aSignInWithAnotherTeamDoesNotMakeAnEventStale() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
                values (
                    '002.of-another-team', \(anna.id), '{"sub": "002.of-another-team"}', 'apple', now(), now(),
                    now() + interval '1 hour'
                )
                """
            )
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 0)
        }
    }

    /// An event about one of two linked Apple Accounts does not end the grant of the other.
    @Test func anEventAboutOneAppleAccountKeepsTheCredentialOfAnother() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.link("001.linked-too", to: anna)
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: "001.linked-too"))
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked done"])
            #expect(try await stage.traces(of: anna).credentials == 1)
        }
    }

    @Test func accountDeletedRequestsDeletionWithGrace() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            for event in ["account-delete", "account-deleted"] {
                let told = try stage.told(.init(rawValue: event), about: anna.sub)
                #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            }
            try await stage.work(services)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 1)
            )
            let (origin, state) = try await stage.admin.withConnection { connection in
                try connection.one("select origin, state from accountctl.deletion_requests", as: (String, String).self)
            }
            #expect(origin == "apple")
            #expect(state == "grace")
        }
    }

    /// Forwarding ends with a deleted Apple Account, although Apple sends no event about its relay address.
    @Test(arguments: [false, true])
    func nothingIsForwardedForADeletedAppleAccount(_ isOfAnother: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: false)
            if isOfAnother {
                try await stage.link("001.linked-too", to: anna, first: false)
                try await stage.sql(
                    """
                    update auth.identities
                    set identity_data = identity_data || jsonb_build_object('email', u.email)
                    from auth.users as u
                    where provider_id = '001.linked-too' and u.id = user_id
                    """
                )
            }
            let services = stage.services()
            let told = try stage.told(.init(rawValue: "account-deleted"), about: anna.sub)
            _ = try await NotificationIntake(services).take(told)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["account-deleted \(isOfAnother ? "other_sign_in" : "done")"])
            let forwarding = try await stage.value(
                "select forwarding from accountctl.relay_accounts where user_id = \(anna.id)",
                as: String.self
            )
            #expect(forwarding == (isOfAnother ? "unknown" : "off"))
        }
    }

    @Test func nothingIsForwardedWhateverThePolicySays() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: false)
            var policy = CredentialPolicy()
            policy.accountDeleted = []
            let services = stage.services(policy)
            let told = try stage.told(.init(rawValue: "account-deleted"), about: anna.sub)
            _ = try await NotificationIntake(services).take(told)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["account-deleted no_reaction"])
            let forwarding = try await stage.value(
                "select forwarding from accountctl.relay_accounts where user_id = \(anna.id)",
                as: String.self
            )
            #expect(forwarding == "off")
        }
    }

    @Test func whoeverCameBackIsNotHurt() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            // The events happened two hours ago, and the sign-in is one hour old.
            for event in ["consent-revoked", "account-deleted"] {
                let told = try stage.told(.init(rawValue: event), about: anna.sub, ago: 7200)
                #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            }
            try await stage.work(services)
            #expect(try await stage.traces(of: anna) == .init())
            #expect(try await stage.outcomes() == ["consent-revoked stale", "account-deleted stale"])
        }
    }

    /// An event that is older than the last sign-in has no effect, even if no new code was submitted.
    ///
    /// The auth server records a sign-in only in `updated_at`.
    @Test(arguments: [true, false])
    func whoeverCameBackWithoutACodeIsNotHurt(_ cameBack: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("update accountctl.apple_credentials set obtained_at = now() - interval '3 hours'")
            if !cameBack { try await stage.sql("update auth.identities set updated_at = now() - interval '3 hours'") }
            let services = stage.services()
            let told = try stage.told(about: anna.sub, ago: 7200)
            #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked \(cameBack ? "stale" : "done")"])
            #expect(try await stage.traces(of: anna).sessions == (cameBack ? 1 : 0))
        }
    }

    @Test func anErasureHearsItsOwnEcho() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.beginErasure(of: anna.id)
            let services = stage.services()
            let told = try stage.told(about: anna.sub)
            _ = try await NotificationIntake(services).take(told)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["consent-revoked echo"])
            #expect(try await stage.traces(of: anna).credentials == 1)
        }
    }

    /// An echo does not wait for the delete, which may lock the account's rows for half an hour if a table is large.
    ///
    /// Otherwise the events of other people would wait as well.
    @Test func anEchoDoesNotWaitForTheDelete() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.beginErasure(of: anna.id)
            let services = stage.services()
            let echo = try stage.told(about: anna.sub)
            try await stage.pool.withTransaction { delete in
                try delete.execute("select from auth.users where id = \(anna.id) for update")
                // Waiting for the row lock would end in an error.
                #expect(try await NotificationIntake(services).take(echo) == .stored(events: 1))
            }
            #expect(try await stage.outcomes() == ["consent-revoked echo"])
        }
    }

    @Test func forwardingIsSwitchedWithTheEvent() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let services = stage.services()
            let told = try stage.told(.emailDisabled, about: anna.sub) {
                ($0.email, $0.isPrivateEmail) = ("x@privaterelay.appleid.com", true)
            }
            _ = try await NotificationIntake(services).take(told)
            #expect(try await stage.forwarding(of: anna) == ["x@privaterelay.appleid.com off"])
            #expect(try await stage.outcomes() == ["email-disabled forwarding"])
            let rows = try await stage.value(
                "select count(*) from accountctl.credential_events as e where e::text like '%privaterelay%'",
                as: Int.self
            )
            #expect(rows == 0)

            // The first event is older than the known state, and the second has no address to switch.
            let older = try stage.told(.emailEnabled, about: anna.sub, ago: 60) {
                ($0.email, $0.isPrivateEmail) = ("x@privaterelay.appleid.com", true)
            }
            _ = try await NotificationIntake(services).take(older)
            _ = try await NotificationIntake(services).take(stage.told(.emailEnabled, about: anna.sub))
            #expect(
                try await stage.outcomes()
                    == ["email-disabled forwarding", "email-enabled stale", "email-enabled not_tracked"]
            )
            #expect(try await stage.forwarding(of: anna) == ["x@privaterelay.appleid.com off"])
        }
    }
}
