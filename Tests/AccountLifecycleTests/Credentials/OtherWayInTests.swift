import Foundation
import JobQueue
import Postgres
import Sandbox
import SignInWithApple
import TestSupport
import Testing

@testable import AccountLifecycle

/// Which accounts survive the deletion of their Apple Account.
@Suite(.timeLimit(.minutes(5))) struct OtherWayInTests {
    /// Takes in Apple's notification that the Apple Account was deleted, and runs the resulting jobs as a worker does.
    private func hearThatAppleDeleted(
        _ person: CredentialStage.Person,
        _ stage: CredentialStage,
        meanwhile: Statement? = nil
    ) async throws {
        let services = stage.services()
        let told = try stage.told(.accountDeleted, about: person.sub)
        #expect(try await NotificationIntake(services).take(told) == .stored(events: 1))
        if let meanwhile { try await stage.sql(meanwhile) }
        var registry = JobRegistry()
        try CredentialJobs.register(in: &registry, services: services)
        try await registry.work(in: stage.pool)
    }

    /// A deleted Apple Account does not erase an account that has another way to sign in.
    @Test(
        arguments: [
            "insert into auth.identities (provider_id, user_id, identity_data, provider) select 'g1', id, '{}', 'google' from auth.users",
            "update auth.users set encrypted_password = '$2a$10$abc'",
            "update auth.users set encrypted_password = extensions.crypt('secret', extensions.gen_salt('bf', 4))",
            "update auth.users set phone = '15550100', phone_confirmed_at = now()",
            "insert into auth.webauthn_credentials (user_id, credential_id, public_key) select id, '1', '1' from auth.users",
            "update auth.users set email = 'anna@example.com', email_confirmed_at = now()",
        ]
    )
    func accountDeletedErasesNobodyWhoSignsInWithoutApple(_ otherWay: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("\(unsafeSQL: otherWay)")
            try await hearThatAppleDeleted(anna, stage)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 0)
            )
            #expect(try await stage.outcomes() == ["account-deleted other_sign_in"])
        }
    }

    /// An account whose deleted Apple Account was unlinked keeps its other identity and that one's credential.
    @Test(arguments: [false, true])
    func whoUnlinksTheAppleAccountBeforeItIsHeardLivesOnWithAnother(_ isHeld: Bool) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp(credential: isHeld)
            let other = "002.of-the-same-person"
            try await stage.link(other, to: anna)
            try await stage.sql("update accountctl.apple_credentials set apple_sub = \(other)")
            let unlinking: Statement = "delete from auth.identities where provider_id = \(anna.sub)"
            try await hearThatAppleDeleted(anna, stage, meanwhile: unlinking)
            #expect(try await stage.traces(of: anna) == .init(credentials: isHeld ? 1 : 0))
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }

    /// The mark stays `account_deleted` when the credential of another client id is refused afterwards.
    @Test func theEndOfTheAppleAccountStaysWhatIsTold() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let web = "com.example.web"
            try await stage.holdBesides(web, of: anna)
            try await stage.sql("update auth.users set phone = '15550100', phone_confirmed_at = now()")
            try await hearThatAppleDeleted(anna, stage)
            stage.sandbox.apple.stopUsing(sub: anna.sub, clientID: web)
            let services = stage.services()
            #expect(try await CredentialChecks(services).sweep().gone == 1)
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["account-deleted other_sign_in", "grant_gone done"])
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 0)
            )
        }
    }

    /// A sign-in with Apple after the deletion shows a live Apple Account, so that a later revocation is marked as
    /// such.
    @Test func whoCameBackAndStopsIsToldSo() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("update auth.users set phone = '15550100', phone_confirmed_at = now()")
            try await hearThatAppleDeleted(anna, stage)
            try await stage.sql("update accountctl.apple_identity_marks set since = since - interval '2 minutes'")
            try await stage.sql("update auth.identities set updated_at = now() - interval '1 minute'")
            let services = stage.services()
            _ = try await NotificationIntake(services).take(stage.told(about: anna.sub))
            try await stage.work(services)
            #expect(try await stage.outcomes() == ["account-deleted other_sign_in", "consent-revoked done"])
            #expect(try await stage.traces(of: anna).mark == "consent_revoked")
        }
    }

    /// A session by a link or a code protects the account, although these leave neither an identity nor a password.
    @Test(arguments: ["otp", "magiclink", "recovery", "email/signup", "web3"])
    func accountDeletedErasesNobodyWhoIsSignedInWithoutApple(_ method: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(Self.session(by: method))
            try await hearThatAppleDeleted(anna, stage)
            #expect(
                try await stage.traces(of: anna)
                    == .init(sessions: 0, refreshTokens: 0, credentials: 0, mark: "account_deleted", deletions: 0)
            )
            #expect(try await stage.outcomes() == ["account-deleted other_sign_in"])
        }
    }

    /// Second factors, continued sessions and anonymous sign-ins are no other way to sign in.
    @Test(arguments: ["oauth", "totp", "mfa/phone", "token_refresh", "anonymous", "oauth_provider/authorization_code"])
    func whatIsNotedOfSessionsBesidesIsNoOtherWayIn(_ method: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(Self.session(by: method))
            try await hearThatAppleDeleted(anna, stage)
            #expect(try await stage.traces(of: anna).deletions == 1)
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }

    /// An address is no other way to sign in if it is unconfirmed, or relayed by Apple.
    @Test(
        arguments: [
            "update auth.users set email = 'anna@example.com', email_confirmed_at = null",
            """
            with identity as (
                update auth.identities
                set identity_data = identity_data
                    || '{"email": "a@hidden.example", "custom_claims": {"is_private_email": true}}'
            )
            update auth.users set email = 'a@hidden.example', email_confirmed_at = now()
            """,
        ]
    )
    func anAddressWithoutMailIsNoOtherWayIn(_ noOtherWay: String) async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("\(unsafeSQL: noOtherWay)")
            try await hearThatAppleDeleted(anna, stage)
            #expect(try await stage.traces(of: anna).deletions == 1)
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }

    /// A second session, recorded as the auth server does.
    private static func session(by method: String) -> Statement {
        """
        with session as (
            insert into auth.sessions (id, user_id) select gen_random_uuid(), id from auth.users returning id
        )
        insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
        select gen_random_uuid(), id, now(), now(), \(method) from session
        """
    }

    /// On an old auth server without passkeys, Apple may have been the only way to sign in.
    @Test func withoutPasskeysTheDeletedAppleAccountMayHaveBeenTheOnlyWayIn() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql("drop table auth.webauthn_credentials")
            try await hearThatAppleDeleted(anna, stage)
            #expect(try await stage.traces(of: anna).deletions == 1)
        }
    }

    @Test func passkeysThatMayNotBeReadCountAsAWayIn() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            let event = CredentialEvent(
                id: 1,
                source: .apple,
                kind: .consentRevoked,
                clientID: nil,
                user: anna.id,
                happenedAt: .now
            )
            let waysIn = try await stage.admin.withTransaction { connection in
                try connection.script(
                    unsafeSQL: """
                        create role reads_no_passkeys;
                        grant usage on schema auth, accountctl to reads_no_passkeys;
                        grant select on auth.users, auth.identities, auth.sessions, auth.mfa_amr_claims
                            to reads_no_passkeys;
                        grant select on all tables in schema accountctl to reads_no_passkeys;
                        grant execute on all functions in schema accountctl to reads_no_passkeys;
                        set local role reads_no_passkeys;
                        """
                )
                let before = try CredentialEvents.facts(
                    of: anna.id,
                    subject: .sub(anna.sub),
                    event: event,
                    apple: stage.apple,
                    on: connection
                ).hasOtherWayIn
                try connection.script(
                    unsafeSQL: """
                        reset role;
                        grant select on auth.webauthn_credentials to reads_no_passkeys;
                        set local role reads_no_passkeys;
                        """
                )
                let after = try CredentialEvents.facts(
                    of: anna.id,
                    subject: .sub(anna.sub),
                    event: event,
                    apple: stage.apple,
                    on: connection
                ).hasOtherWayIn
                try connection.script(
                    unsafeSQL: "reset role; drop owned by reads_no_passkeys; drop role reads_no_passkeys;"
                )
                return [before, after]
            }
            #expect(waysIn == [true, false])
        }
    }

    /// The hash of an empty password, which the auth server once stored for Apple sign-ups, is no other way to sign in.
    @Test func theHashOfAnEmptyPasswordIsNoOtherWayIn() async throws {
        try await CredentialStage.with { stage in
            let anna = try await stage.signUp()
            try await stage.sql(
                "update auth.users set encrypted_password = extensions.crypt('', extensions.gen_salt('bf', 4))"
            )
            try await hearThatAppleDeleted(anna, stage)
            #expect(try await stage.traces(of: anna).deletions == 1)
            #expect(try await stage.outcomes() == ["account-deleted done"])
        }
    }
}
