import Foundation
import Postgres

/// The demo's database, used with the roles of Auth and of the API.
struct DemoDatabase: Sendable {
    let pool: Pool

    /// Signs a person up in Auth's role, so that the app's trigger runs with the privileges that it has there.
    func signUp(_ person: DemoPerson, apple: (sub: String, email: String?)?) async throws {
        let email = apple?.email ?? person.email
        let provider = apple == nil ? "email" : "apple"
        // Apple gives the name only to the app, which stores it afterwards.
        let metadata = apple == nil ? JSON(["full_name": person.fullName]) : JSON([:])
        let providers = JSON(ProviderData(provider: provider, providers: [provider]))
        let identity = JSON(
            IdentityData(
                iss: apple.map { _ in "https://appleid.apple.com" },
                sub: apple?.sub ?? person.id.text,
                email: email,
                emailVerified: true,
                customClaims: apple.map { _ in ["is_private_email": email.hasSuffix("@privaterelay.appleid.com")] }
            )
        )
        let session = UUID()
        try await pool.withTransaction { connection in
            try connection.execute("select set_config('role', 'supabase_auth_admin', true)")
            try connection.execute(
                """
                insert into auth.users (
                    instance_id, id, aud, role, email, email_confirmed_at, last_sign_in_at, raw_app_meta_data,
                    raw_user_meta_data, created_at, updated_at
                )
                values (
                    '00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated', \(email),
                    now(), now(), \(providers), \(metadata), now(), now()
                )
                """
            )
            try connection.execute(
                """
                insert into auth.identities (
                    provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at
                )
                values (\(identity.value.sub), \(person.id), \(identity), \(provider), now(), now(), now())
                """
            )
            try connection.execute(
                """
                insert into auth.sessions (id, user_id, created_at, updated_at, aal)
                values (\(session), \(person.id), now(), now(), 'aal1')
                """
            )
            try connection.execute(
                """
                insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
                values (
                    '00000000-0000-0000-0000-000000000000', \(session.uuidString), \(person.id.text),
                    false, now(), now(), \(session)
                )
                """
            )
            // The journal of sign-ins has no foreign key to the user, so its rows outlive a deletion.
            try connection.execute(
                """
                insert into auth.audit_log_entries (instance_id, id, payload, created_at)
                values (
                    '00000000-0000-0000-0000-000000000000', gen_random_uuid(),
                    json_build_object(
                        'action', 'login', 'actor_id', \(person.id)::text, 'actor_username', \(email)::text,
                        'log_type', 'account'
                    ),
                    now()
                )
                """
            )
        }
    }

    /// Runs the tutorial's statement, by which the signed-in user updates their own profile.
    func updateProfile(_ person: DemoPerson, avatar: String?) async throws {
        try await asSignedIn(person.id) { connection in
            try connection.execute(
                """
                update public.profiles
                set username = \(person.username),
                    full_name = \(person.fullName),
                    website = \("https://example.com/\(person.username)"),
                    avatar_url = \(avatar),
                    updated_at = now()
                where id = \(person.id)
                """
            )
        }
    }

    /// Sets a file as the avatar of the signed-in user; nothing checks whose file it is.
    func setAvatar(_ key: String, of user: UUID) async throws {
        try await asSignedIn(user) { connection in
            try connection.execute("update public.profiles set avatar_url = \(key) where id = \(user)")
        }
    }

    /// The key of a file that belongs to none of the given users.
    func avatarKey(ofOtherThan users: [UUID]) async throws -> String? {
        try await pool.withConnection { connection in
            try connection.first(
                """
                select objects.name
                from storage.objects
                where objects.owner_id <> all (\(users)::uuid[]::text[])
                order by objects.name
                limit 1
                """,
                as: String.self
            )
        }
    }

    func submitCode(_ code: String, clientID: String, of user: UUID) async throws {
        try await asSignedIn(user) { connection in
            _ = try connection.one(
                "select public.submit_apple_authorization_code(\(code), \(clientID))::text",
                as: String.self
            )
        }
    }

    func requestDeletion(of user: UUID, code: String?, clientID: String) async throws {
        try await asSignedIn(user) { connection in
            _ = try connection.one(
                """
                select public.request_account_deletion(
                    authorization_code => \(code), client_id => \(clientID), reason => 'the demo'
                )::text
                """,
                as: String.self
            )
        }
    }

    func cancelDeletion(of user: UUID) async throws {
        try await asSignedIn(user) { connection in
            _ = try connection.one("select public.cancel_account_deletion()::text", as: String.self)
        }
    }

    /// The accounts in the order of their creation, with their Apple sub and whether a credential is held or being
    /// fetched.
    func accounts() async throws -> [(id: UUID, sub: String?, hasCode: Bool)] {
        try await pool.withConnection { connection in
            try connection.query(
                """
                select
                    users.id,
                    apple.provider_id,
                    exists (select from accountctl.apple_credentials as held where held.user_id = users.id)
                        or exists (select from accountctl.authorization_codes as codes where codes.user_id = users.id)
                from auth.users
                left join auth.identities as apple
                    on apple.user_id = users.id
                    and apple.provider = 'apple'
                order by users.created_at, users.id
                """,
                as: (UUID, String?, Bool).self
            )
        }
    }

    /// Runs a transaction as PostgREST does for a signed-in user.
    private func asSignedIn(_ user: UUID, _ body: @Sendable (isolated Connection) throws -> Void) async throws {
        let claims = JSON(["sub": user.text, "role": "authenticated", "aud": "authenticated"])
        try await pool.withTransaction { connection in
            try connection.execute(
                """
                select
                    set_config('role', 'authenticated', true),
                    set_config('request.jwt.claims', (\(claims))::text, true)
                """
            )
            try body(connection)
        }
    }
}

/// `raw_app_meta_data`.
private struct ProviderData: Codable, Sendable {
    let provider: String
    let providers: [String]
}

/// `identity_data` as Auth writes it.
private struct IdentityData: Codable, Sendable {
    let iss: String?
    let sub: String
    let email: String
    let emailVerified: Bool
    let customClaims: [String: Bool]?

    enum CodingKeys: String, CodingKey {
        case iss, sub, email
        case emailVerified = "email_verified"
        case customClaims = "custom_claims"
    }
}
