import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// By what an account is recognised in data, and what its person could have written there.
@Suite(.timeLimit(.minutes(3))) struct IdentifierCollectionTests {
    private func identifiers(_ identities: String) async throws -> [String] {
        try await TestDatabase.with(.migrated) { database in
            let id = UUID()
            try await database.psql(
                """
                insert into auth.users (instance_id, id, aud, role, email, created_at)
                values ('00000000-0000-0000-0000-000000000000', '\(id)', 'authenticated', 'authenticated', 'anna@x.de', now());
                insert into auth.identities (provider_id, user_id, identity_data, provider) values
                """ + " " + identities.replacing("ID", with: "'\(id)'")
            )
            return try await database.withConnection { connection in
                let all = try #require(try IdentifierCollection.read(of: id, on: connection))
                return all.filter { $0.kind != .userID }.map(\.value)
            }
        }
    }

    @Test("Of who signs up by address or number the auth server copies what they say of themselves into the identity")
    func selfTold() async throws {
        let found = try await identifiers(
            """
            (ID, ID, '{"email": "anna@x.de", "phone": "4915112345678", "phone_verified": true}', 'email'),
            (ID, ID, '{"phone": "491510000000", "email": "victim@x.de", "email_verified": true}', 'phone')
            """
        )
        #expect(found == ["anna@x.de"])
    }

    @Test("Of a provider what it has checked, or does not say that it has not")
    func told() async throws {
        let found = try await identifiers(
            """
            ('a-12345678', ID, '{"email": "a@relay.test", "email_verified": true, "phone": "4915112345678"}', 'apple'),
            ('g-12345678', ID, '{"email": "g@x.de", "phone": "4915100000001", "phone_verified": true}', 'google'),
            ('z-12345678', ID, '{"email": "victim@x.de", "email_verified": false}', 'azure')
            """
        )
        #expect(
            found == ["a@relay.test", "anna@x.de", "g@x.de", "4915100000001", "a-12345678", "g-12345678", "z-12345678"]
        )
    }
}
