import AccountLifecycle
import Foundation
import MailRelay
import Postgres
import Sealing
import TestSupport
import Testing

/// The people whom directory tests look up, and the lookups themselves.
enum DirectoryPeople {
    static let anna = UUID(uuidString: "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f") ?? UUID()
    static let sub = "001234.0123456789abcdef0123456789abcdef.0123"

    static let sql = """
        insert into auth.users (instance_id, id, aud, role, email, phone, created_at, is_sso_user, deleted_at, banned_until)
        values
            ('00000000-0000-0000-0000-000000000000', '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f', 'authenticated', 'authenticated',
             'anna@example.com', '491511234567', now(), false, null, null),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000002', 'authenticated', 'authenticated',
             'joanna@example.com', null, now(), false, null, now() + interval '1 day'),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000003', 'authenticated', 'authenticated',
             'Mixed@Example.com', null, now(), false, now(), null),
            ('00000000-0000-0000-0000-000000000000', '00000000-0000-4000-8000-000000000004', 'authenticated', 'authenticated',
             'anna@example.com', null, now(), true, null, null);
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        values
            ('\(sub)', '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f',
             '{"email": "abc123@privaterelay.appleid.com", "custom_claims": {"is_private_email": true}}', 'apple', now()),
            ('g-1', '00000000-0000-4000-8000-000000000002', '{"email": "joanna@example.com"}', 'google', now());
        """

    /// Runs a closure with a database that has these people.
    static func with(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(sql)
            try await body(database)
        }
    }

    static func find(
        _ text: String,
        _ comparison: LookupComparison = .exact,
        by kind: LookupKind? = nil,
        in database: TestDatabase,
        hashKey: HashKey? = nil
    ) async throws -> LookupAnswer {
        let term = try #require(LookupTerm(text, as: kind, compared: comparison))
        let directory = AccountDirectory(hashKey: hashKey)
        return try await database.withConnection { connection in
            try directory.find(term, on: connection)
        }
    }

    /// The number of Anna's files in each bucket, and how many of them are shared.
    static func files(_ database: TestDatabase, searching path: String = "public") async throws -> [[Int?]]? {
        let match = try #require(try await find(sub, in: database).matches.first)
        return try await database.withConnection { connection in
            try connection.execute("select set_config('search_path', \(path), false)")
            return try await AccountReport.read(match, hashKey: nil, relayDomains: RelayDomains(), on: connection)
        }?.files.map { [Optional($0.count), $0.shared] }
    }
}
