import AccountLifecycle
import Foundation
import HTTPCalls
import Postgres
import Sandbox
import Sealing
import TestSupport

/// An account as the app creates it, with the rows that depend on it.
struct Person: Sendable {
    let id: UUID
    let email: String
    /// Apple's identifier of the person; nil for a person who signs in by e-mail.
    let sub: String?

    var text: String { id.text }
}

extension Stage {
    /// Signs a person up: user, identity, session, refresh token, audit entry and an unfinished flow; the trigger adds
    /// the profile.
    func signUp(_ name: String = "anna", email: String? = nil, sub known: String? = nil, apple: Bool = true)
        async throws -> Person
    {
        let id = UUID()
        let email = email ?? "\(name)-\(id.uuidString.prefix(8).lowercased())@example.com"
        let sub = apple ? try sandbox.apple.signIn(clientID: Self.clientID, sub: known, email: email).sub : nil
        let person = Person(id: id, email: email, sub: sub)
        let claims = ["sub": sub ?? person.text, "email": email]
        try await admin.withTransaction { connection in
            try connection.execute(
                """
                insert into auth.users (instance_id, id, aud, role, email, raw_user_meta_data, created_at, updated_at, phone)
                values (
                    '00000000-0000-0000-0000-000000000000', \(id), 'authenticated', 'authenticated', \(email),
                    \(JSON(["full_name": name, "email": email])), clock_timestamp(), clock_timestamp(), null
                )
                """
            )
            try connection.execute(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
                values (\(sub ?? person.text), \(id), \(JSON(claims)), \(sub == nil ? "email" : "apple"), now())
                """
            )
            let session = UUID()
            try connection.execute("insert into auth.sessions (id, user_id) values (\(session), \(id))")
            try connection.execute(
                """
                insert into auth.refresh_tokens (token, user_id, session_id)
                values (\(UUID().uuidString), \(person.text), \(session))
                """
            )
            try connection.execute(
                """
                insert into auth.flow_state (id, user_id, provider_type, authentication_method)
                values (gen_random_uuid(), \(id), 'apple', 'oauth')
                """
            )
            try connection.execute(
                """
                insert into auth.audit_log_entries (id, payload, created_at, ip_address)
                values (
                    gen_random_uuid(),
                    json_build_object(
                        'action', 'login', 'actor_id', \(person.text)::text, 'actor_username', \(email)::text,
                        'actor_name', \(name)::text, 'log_type', 'account'
                    ),
                    now(),
                    '203.0.113.7'
                )
                """
            )
        }
        return person
    }

    /// Uploads an object with the person's access token, or with the service key where `person` is nil; returns whether
    /// Storage accepted it.
    @discardableResult
    func upload(_ key: String, by person: Person?, bucket: String = "avatars") async throws -> Bool {
        let keys = sandbox.storage.keys
        let token = try person.map { try keys.accessToken(userID: $0.text, email: $0.email) } ?? keys.serviceRoleKey
        let outcome = try await caller.perform(
            HTTPCall(
                label: "test.upload",
                method: .post,
                address: try ServiceAddress(sandbox.storage.url, allowPlainHTTP: true),
                path: "/object/\(bucket)/\(key)",
                headers: [
                    .init("Authorization", "Bearer \(token)"), .init("apikey", keys.anonKey),
                    .init("Content-Type", "image/jpeg"),
                ],
                body: Secret(Array("bytes of \(key)".utf8)),
                repetition: .onlyIfNothingWasSent
            )
        )
        guard case .reply(let reply) = outcome else { return false }
        return reply.status == 200
    }

    /// Runs SQL as the signed-in person, as PostgREST does; `more` adds claims to the usual ones of the token.
    func signedIn<Result: Sendable>(
        _ person: Person,
        claims more: [String: String] = [:],
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await admin.withTransaction { connection in
            try connection.execute("set local role authenticated")
            let claims = JSON(["sub": person.text, "role": "authenticated"].merging(more) { $1 })
            _ = try connection.one(
                """
                select set_config('request.jwt.claims', (\(claims))::text, true),
                       set_config('request.jwt.claim.sub', \(person.text), true)
                """,
                as: (String, String).self
            )
            return try await body(connection)
        }
    }

    /// Calls a function as the app does, and returns its result as text.
    func call(_ person: Person, claims: [String: String] = [:], _ statement: Statement) async throws -> String {
        try await signedIn(person, claims: claims) { try $0.one(statement, as: String.self) }
    }

    /// Requests the deletion as the app does.
    @discardableResult
    func request(_ person: Person, code: String? = nil) async throws -> UUID {
        let grace: Statement = """
            insert into accountctl.settings (name, value) values ('deletion.grace', '"0 seconds"')
            on conflict (name) do nothing
            """
        try await sql(grace)
        let reply = try await call(person, "select public.request_account_deletion(\(code), \(Self.clientID))")
        return try Opened(reply).request
    }

    /// Requests the deletion as an operator, who may also do so for a person who cannot.
    func requestByOperator(_ person: Person) async throws -> UUID {
        let desk = desk
        let opening = try await pool.withConnection {
            try await desk.request(person.id, reason: "test", grace: .zero, on: $0)
        }
        guard case .opened(let request) = opening else { throw Unexpected(opening) }
        return request
    }

    /// Exchanges an authorization code of the person's, so that a credential is held.
    func holdCredential(of person: Person) async throws {
        let outcome = try await CodeExchange(services()).run(submitCode(of: person))
        guard outcome == .settled(.exchanged) else { throw Unexpected(outcome) }
    }

    /// Signs up a person with everything: avatars with random names and in a folder named in upper case, a credential,
    /// and a filled-in profile.
    func fullAccount(_ name: String = "anna") async throws -> Person {
        let person = try await signUp(name)
        for key in ["\(UUID().uuidString).jpeg", "\(UUID().uuidString).jpeg", "\(person.id.uuidString)/me.png"] {
            guard try await upload(key, by: person) else { throw Unexpected("upload refused") }
        }
        try await holdCredential(of: person)
        try await sql(
            """
            update public.profiles
            set username = \(name + String(person.text.prefix(8))), website = 'https://example.com'
            where id = \(person.id)
            """
        )
        return person
    }
}
