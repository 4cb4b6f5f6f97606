import AccountLifecycle
import Foundation
import HTTPCalls
import Logging
import Postgres
import Sandbox
import SandboxClients
import Sealing
import SignInWithApple
import TestSupport

import struct Sandbox.AppleNotification

/// A migrated database, the Apple sandbox, and the services that follow credentials.
struct CredentialStage: Sendable {
    static let clientID = "com.example.app"

    let sandbox: Sandbox
    /// Connects as the product does.
    let pool: Pool
    /// Connects as the superuser, for fixtures and inspection.
    let admin: Pool
    let apple: AppleClients
    let key: SealingKey
    let keys: KeyRing

    static func with<Result: Sendable>(_ body: @Sendable (CredentialStage) async throws -> Result) async throws
        -> Result
    {
        let logger = Logger.silent
        return try await TestDatabase.with(.migrated) { database in
            try await Sandbox.with(logger: logger) { sandbox in
                try await HTTPCaller.withCaller(logger: logger) { caller in
                    let apple = try AppleClients(of: sandbox, [clientID, "com.example.web"], caller: caller)
                    let first = try SealingKey.named("k1")
                    let keys = try KeyRing([first])
                    return try await database.withPool { pool in
                        try await database.withPool(asAdministrator: true) { admin in
                            try await body(
                                CredentialStage(
                                    sandbox: sandbox,
                                    pool: pool,
                                    admin: admin,
                                    apple: apple,
                                    key: first,
                                    keys: keys
                                )
                            )
                        }
                    }
                }
            }
        }
    }

    func services(
        _ policy: CredentialPolicy = CredentialPolicy(),
        keys: KeyRing? = nil,
        logger: Logger = .silent
    ) -> CredentialServices {
        CredentialServices(
            pool: pool,
            apple: apple,
            keys: keys ?? self.keys,
            policy: policy,
            logger: logger
        )
    }

    // MARK: - Fixtures

    /// A person with an account, a session and, by default, a held credential.
    ///
    /// The person signed up three hours ago and signed in again an hour ago, which the auth server records only in
    /// `updated_at`.
    struct Person: Sendable {
        let id: UUID
        let sub: String
        var text: String { id.text }
    }

    func signUp(id: UUID = UUID(), credential: Bool = true, clientID: String = Self.clientID) async throws -> Person {
        let signIn = try sandbox.apple.signIn(clientID: clientID, hidesEmail: true)
        let person = Person(id: id, sub: signIn.sub)
        try await admin.withTransaction { connection in
            try connection.execute(
                """
                insert into auth.users
                    (instance_id, id, aud, role, email, email_confirmed_at, created_at, updated_at)
                values (
                    '00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated',
                    \(signIn.email), now() - interval '2 hours', now() - interval '2 hours', now()
                )
                """
            )
            try connection.execute(
                """
                insert into auth.identities
                    (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at, updated_at)
                values (
                    \(person.sub), \(person.id), jsonb_build_object('sub', \(person.sub)::text), 'apple',
                    now() - interval '3 hours', now() - interval '3 hours', now() - interval '1 hour'
                )
                """
            )
            let session = UUID()
            try connection.execute("insert into auth.sessions (id, user_id) values (\(session), \(person.id))")
            try connection.execute(
                """
                insert into auth.mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
                values (gen_random_uuid(), \(session), now(), now(), 'oauth')
                """
            )
            try connection.execute(
                """
                insert into auth.refresh_tokens (token, user_id, session_id)
                values (\(UUID().uuidString), \(person.text), \(session))
                """
            )
        }
        if credential { try await hold(signIn.authorizationCode, of: person, clientID: clientID) }
        return person
    }

    /// Signs a person in to another client of the team, and holds that credential as well.
    func holdBesides(_ clientID: String, of person: Person) async throws {
        let signIn = try sandbox.apple.signIn(clientID: clientID, sub: person.sub)
        try await hold(signIn.authorizationCode, of: person, clientID: clientID)
    }

    /// Exchanges a code and stores the credential, obtained half an hour ago and due for its check.
    func hold(_ code: String, of person: Person, clientID: String = Self.clientID) async throws {
        guard let client = apple[clientID],
            case .granted(let grant) = try await client.exchange(code: Secret(code), redirectURI: nil)
        else { throw CancellationError() }
        let sealed = keys.seal(
            grant.refreshToken,
            for: SealingContext(purpose: "apple-refresh-token", ids: [person.text, clientID])
        )
        try await sql(
            """
            insert into accountctl.apple_credentials
                (user_id, client_id, apple_sub, sealed_token, sealing_key_id, obtained_at, check_after)
            values (
                \(person.id), \(clientID), \(person.sub), \(sealed.text), \(sealed.keyID.text),
                now() - interval '30 minutes', now() - interval '1 minute'
            )
            """
        )
    }

    /// Puts an account under deletion: locked out, and with a step at Apple that cannot be undone.
    func beginErasure(of user: UUID) async throws {
        try await lockOut(user)
        try await beginAtApple(for: user)
        try await sql("update accountctl.deletion_steps set facts = '{}'")
    }

    /// Begins the step at Apple in such a way that it can still be undone.
    func beginAtApple(for user: UUID) async throws {
        try await sql(
            """
            insert into accountctl.deletion_steps (request_id, step, runs, started_at)
            select id, 'revoke_apple', 1, now()
            from accountctl.deletion_requests
            where user_id = \(user)
            """
        )
    }

    /// Puts an account under deletion and locks it out, without beginning a step that cannot be undone.
    func lockOut(_ user: UUID) async throws {
        try await sql("select accountctl.open_deletion_request(\(user), 'app', null, '0')")
        try await sql(
            """
            update accountctl.deletion_requests
            set state = 'running', locked_out_at = now()
            where user_id = \(user)
            """
        )
    }

    /// A notification as Apple posts it, about an event that happened, and was signed, `seconds` ago.
    func told(
        _ event: AppleNotification.Event = .consentRevoked,
        about sub: String,
        ago seconds: TimeInterval = 0,
        forgery: Forgery? = nil,
        _ change: (inout AppleNotification) -> Void = { _ in }
    ) throws -> [UInt8] {
        let moment = Date() - seconds
        var notification = AppleNotification(
            event,
            sub: sub,
            audience: Self.clientID,
            eventTime: moment,
            issuedAt: moment
        )
        change(&notification)
        return Array(#"{"payload":"\#(try sandbox.apple.sign(notification, forgery: forgery))"}"#.utf8)
    }

    func sql(_ statement: Statement) async throws {
        _ = try await admin.withConnection { try $0.execute(statement) }
    }

    /// Makes the database refuse a change to one person's rows of a table, as a foreign key of an app's own table may.
    func refuse(_ table: String, _ change: String, of person: Person) async throws {
        try await admin.withConnection { connection in
            try connection.script(
                unsafeSQL: """
                    create or replace function public.refuse() returns trigger language plpgsql as $$
                    begin
                        raise foreign_key_violation;
                    end
                    $$;
                    create trigger refuse before \(change) on \(table) for each row
                    when (\(change == "delete" ? "old" : "new").user_id = '\(person.text)')
                    execute function public.refuse();
                    """
            )
        }
    }

    func value<Value: PostgresDecodable>(_ statement: Statement, as type: Value.Type) async throws -> Value {
        try await admin.withConnection { try $0.one(statement, as: type) }
    }

    // MARK: - What is left

    /// What an event may have changed about a person.
    struct Traces: Hashable, Sendable {
        var sessions = 1
        var refreshTokens = 1
        var credentials = 1
        var mark: String?
        var deletions = 0
    }

    func traces(of person: Person) async throws -> Traces {
        let (sessions, tokens, credentials, mark, deletions) = try await admin.withConnection { connection in
            try connection.one(
                """
                select
                    (select count(*) from auth.sessions where user_id = \(person.id)),
                    (select count(*) from auth.refresh_tokens where user_id = \(person.text)),
                    (select count(*) from accountctl.apple_credentials where user_id = \(person.id)),
                    (select state from accountctl.apple_identity_marks where user_id = \(person.id)),
                    (select count(*) from accountctl.deletion_requests where user_id = \(person.id))
                """,
                as: (Int, Int, Int, String?, Int).self
            )
        }
        return Traces(
            sessions: sessions,
            refreshTokens: tokens,
            credentials: credentials,
            mark: mark,
            deletions: deletions
        )
    }

    /// The recorded forwarding state of each of a person's addresses.
    func forwarding(of person: Person) async throws -> [String] {
        try await admin.withConnection { connection in
            try connection.query(
                "select address || ' ' || forwarding from accountctl.relay_addresses where user_id = \(person.id)",
                as: String.self
            )
        }
    }

    func outcomes() async throws -> [String] {
        try await admin.withConnection { connection in
            try connection.query(
                "select kind || ' ' || coalesce(outcome, 'waiting') from accountctl.credential_events order by id",
                as: String.self
            )
        }
    }
}
