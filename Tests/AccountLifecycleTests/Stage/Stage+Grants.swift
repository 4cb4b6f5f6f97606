import AccountLifecycle
import Postgres

/// Adds records of grants at Apple without any call to Apple.
extension Stage {
    func add(_ grant: UnheldGrant, of person: Person, clientID: String?) async throws {
        switch grant {
        case .lost:
            try await sql(
                "insert into accountctl.lost_grants (user_id, client_id) values (\(person.id), \(clientID))"
            )
        case .unknown:
            try await sql(
                """
                insert into accountctl.authorization_codes (user_id, client_id, state, settled_at)
                values (\(person.id), \(clientID), 'grant_unknown', now())
                """
            )
        }
    }

    /// Adds a credential of the person's whose identity now belongs to another account; it is handled after the
    /// credentials that Apple issued, unless its id is lower.
    func addMovedCredential(of person: Person, id: Int64 = 1000) async throws {
        let other = try await signUp("berta", apple: false)
        try await sql(
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
            values ('moved', \(other.id), '{}', 'apple', now())
            """
        )
        try await sql(
            """
            insert into accountctl.apple_credentials
                (id, user_id, client_id, apple_sub, sealed_token, sealing_key_id)
            overriding system value
            values (\(id), \(person.id), 'com.example.web', 'moved', 'x', 'test1')
            """
        )
    }
}
