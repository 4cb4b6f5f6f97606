import Foundation
import Sandbox
import TestSupport

/// Talks to the pretended Storage over a database and a folder of its own.
struct StorageClient: Sendable {
    static let bucket = "avatars"

    let sandbox: Sandbox
    let database: TestDatabase

    /// A user who exists for storage only: the owner columns are no keys.
    let user = UUID()

    /// Runs a sandbox on a fresh database with a bucket whose policies are the product's: everybody their own files.
    static func with<Result: Sendable>(
        deleteLimit: Int? = nil,
        _ body: @Sendable (StorageClient) async throws -> Result
    ) async throws -> Result {
        try await TestDatabase.with(.platform) { database in
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("accountctl-storage-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await database.psql(
                """
                insert into storage.buckets (id, name, public) values ('avatars', 'avatars', false);
                insert into storage.buckets (id, name, public) values ('shared', 'shared', true);
                create policy own on storage.objects for all to authenticated
                    using (bucket_id = 'avatars' and owner_id = (select auth.uid()::text))
                    with check (bucket_id = 'avatars' and owner_id = (select auth.uid()::text));
                """
            )
            var configuration = SandboxConfiguration()
            configuration.storage = .init(
                conninfo: database.cluster.conninfo(database: database.name, user: "supabase_storage_admin"),
                folder: folder
            )
            configuration.storage?.deleteLimit = deleteLimit
            return try await Sandbox.with(configuration) { sandbox in
                try await body(StorageClient(sandbox: sandbox, database: database))
            }
        }
    }

    /// The headers of the operator's legacy key.
    var service: [String: String] {
        [
            "Authorization": "Bearer \(sandbox.storage.keys.serviceRoleKey)",
            "apikey": sandbox.storage.keys.serviceRoleKey,
        ]
    }

    /// The headers of the signed-in user.
    func signedIn(_ user: UUID? = nil) throws -> [String: String] {
        let token = try sandbox.storage.keys.accessToken(userID: (user ?? self.user).uuidString.lowercased())
        return ["Authorization": "Bearer \(token)", "apikey": sandbox.storage.keys.anonKey]
    }

    func upload(
        _ key: String,
        bucket: String = bucket,
        as headers: [String: String]? = nil,
        verb: Verb = .post,
        more: [String: String] = [:]
    ) async throws -> Answer {
        let type = ["Content-Type": "image/jpeg"].merging(headers ?? service) { _, new in new }
        return try await Answer.to(
            verb,
            "\(sandbox.storage.url)/object/\(bucket)/\(AppleCaller.encode(key).replacingOccurrences(of: "%2F", with: "/"))",
            headers: type.merging(more) { _, new in new },
            body: Array("bytes of \(key)".utf8)
        )
    }

    func deleteMany(
        _ keys: [String],
        bucket: String = bucket,
        as headers: [String: String]? = nil
    ) async throws -> Answer {
        let body = String(decoding: try JSONEncoder().encode(["prefixes": keys]), as: UTF8.self)
        return try await Answer.json(
            .delete,
            "\(sandbox.storage.url)/object/\(bucket)",
            headers: headers ?? service,
            body
        )
    }

    func list(_ body: String, bucket: String = bucket, as headers: [String: String]? = nil) async throws -> Answer {
        try await Answer.json(.post, "\(sandbox.storage.url)/object/list/\(bucket)", headers: headers ?? service, body)
    }

    func listPage(_ body: String, bucket: String = bucket) async throws -> Answer {
        try await Answer.json(.post, "\(sandbox.storage.url)/object/list-v2/\(bucket)", headers: service, body)
    }

    func object(
        _ verb: Verb,
        _ path: String,
        as headers: [String: String]? = nil
    ) async throws -> Answer {
        try await Answer.to(verb, "\(sandbox.storage.url)/object/\(path)", headers: headers ?? service)
    }

    /// The names in the table, as the superuser sees them.
    func rows() async throws -> [String] {
        try await database.psql("select name from storage.objects order by name collate \"C\"")
            .split(separator: "\n").map(String.init)
    }
}
