import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Which identifiers of an account are searched for, and which are not because its person could have made them up.
@Suite(.timeLimit(.minutes(5))) struct IdentifierCollectionTests {
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

    @Test("Claims of people who sign up by address or number do not count, though the auth server copies them")
    func selfTold() async throws {
        let found = try await identifiers(
            """
            (ID, ID, '{"email": "anna@x.de", "phone": "4915112345678", "phone_verified": true}', 'email'),
            (ID, ID, '{"phone": "491510000000", "email": "victim@x.de", "email_verified": true}', 'phone')
            """
        )
        #expect(found == ["anna@x.de"])
    }

    @Test("Data of a provider counts if the provider has verified it, or does not say that it has not")
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

    @Test("An address counts in each spelling of an accented letter, since the search compares bytes")
    func accented() async throws {
        let found = try await identifiers(
            """
            ('g-12345678', ID, '{"email": "jos\\u00e9@x.de"}', 'google'),
            ('z-12345678', ID, '{"email": "jose\\u0301@x.de"}', 'azure')
            """
        )
        let spellings = found.filter { $0.hasPrefix("jos") }.map { Array($0.utf8) }
        #expect(Set(spellings) == [Array("jos\u{E9}@x.de".utf8), Array("jose\u{301}@x.de".utf8)])
    }

    /// All of them are deleted with the account, after which nobody can search for them.
    @Test("Data that the auth server or we hold besides the identities counts, unless another account has it")
    func heldBesides() async throws {
        let found = try await identifiers(
            """
            ('a-new-sub', ID, '{}', 'apple');
            insert into auth.users (id) values ('00000000-0000-0000-0000-000000000001');
            insert into auth.identities (provider_id, user_id, identity_data, provider)
            values ('a-moved-sub', '00000000-0000-0000-0000-000000000001', '{}', 'apple');
            insert into auth.mfa_factors (id, user_id, factor_type, status, phone, created_at, updated_at) values
                (gen_random_uuid(), ID, 'phone', 'verified', '4915112345678', now(), now()),
                (gen_random_uuid(), ID, 'phone', 'unverified', '4915100000001', now(), now());
            insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id) values
                (ID, 'com.example.app', 'a-unlinked-sub', 'x', 'test1'), (ID, 'com.example.web', 'a-moved-sub', 'x', 'test1');
            insert into accountctl.apple_transfers
                (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state)
            values (ID, 'com.example.app', 'RECIPIENT1', 'a-former-sub', 't', 'a-new-sub', 'applied');
            insert into accountctl.relay_addresses (user_id, address) values (ID, 'a@privaterelay.appleid.com')
            """
        )
        #expect(
            found == [
                "a@privaterelay.appleid.com", "anna@x.de", "4915112345678", "a-former-sub", "a-new-sub",
                "a-unlinked-sub",
            ]
        )
    }
}
