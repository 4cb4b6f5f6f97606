import AccountLifecycle
import Logging
import Postgres
import Sandbox
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Accounts that all request their deletion at once, with a simulated Apple and Storage on this machine.
struct DeletionLoad: Sendable {
    /// The accounts per round, each with 3 avatars, 2 identities, 1 Apple credential, a session and a profile.
    static let accounts = 2000

    private static let database = "erasure"

    let cluster: BenchmarkCluster
    /// The worker's settings file: all defaults, except for the waits and the ceiling.
    let settingsFile: String
    private let sandbox: Sandbox
    private let keys: KeyRing
    private let admin: Pool

    /// Runs on a server with default settings, which flushes at every commit, since an erasure consists of durable
    /// records.
    static func with<Result: Sendable>(_ body: @Sendable (DeletionLoad) async throws -> Result) async throws -> Result {
        try await BenchmarkCluster.with(settings: []) { cluster in
            try await cluster.migratedDatabase(database)
            let folder = cluster.folder + "/app"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var configuration = SandboxConfiguration()
            configuration.storage = .init(
                conninfo: cluster.conninfo(database: database, user: "supabase_storage_admin"),
                folder: folder + "/files"
            )
            return try await Sandbox.with(configuration, logger: .silent) { sandbox in
                let sealing = try WorkerFiles.key("sealing")
                let settings = try writeSettings(folder, cluster, sandbox, sealing)
                let conninfo = cluster.conninfo(database: database)
                let pooling = PoolConfiguration(connection: ConnectionConfiguration(conninfo: conninfo))
                return try await Pool.withPool(pooling, logger: .silent) { admin in
                    try await body(
                        DeletionLoad(
                            cluster: cluster,
                            settingsFile: settings,
                            sandbox: sandbox,
                            keys: try KeyRing([sealing]),
                            admin: admin
                        )
                    )
                }
            }
        }
    }

    /// Inserts the accounts' rows but creates no files, which plain SQL would leave behind.
    ///
    /// - Returns: their ids.
    func fill() async throws -> [UUID] {
        let people = try (0..<Self.accounts).map { _ in
            (id: UUID(), grant: try sandbox.apple.grant(clientID: WorkerFiles.clientID))
        }
        let ids = people.map(\.id)
        let subs = people.map(\.grant.sub)
        try await admin.withConnection { connection in
            try connection.script(unsafeSQL: Self.emptying)
            try await connection.transaction { connection in
                for statement in Self.filling(ids, subs) { try connection.execute(statement) }
                for person in people {
                    try AppleCredential.store(
                        Secret(person.grant.refreshToken),
                        user: person.id,
                        clientID: WorkerFiles.clientID,
                        teamID: sandbox.apple.teamID,
                        subject: person.grant.sub,
                        keys: keys,
                        on: connection
                    )
                }
            }
            // Of our own tables, only the one filled here is analysed: from statistics of an empty history, the server
            // would keep planning for an empty one.
            try connection.script(
                unsafeSQL: """
                    vacuum analyze auth.users, auth.identities, auth.sessions, auth.refresh_tokens, storage.objects,
                        public.profiles, accountctl.apple_credentials
                    """,
                deadline: .seconds(60)
            )
            try connection.script(unsafeSQL: "checkpoint", deadline: .seconds(60))
        }
        return ids
    }

    /// Creates the accounts and their files and requests all deletions, so that a worker with ``settingsFile`` finds
    /// all its work waiting.
    func ask() async throws {
        let ids = try await fill()
        try await admin.withConnection { connection in
            let objects = try connection.query("select name, version from storage.objects", as: (String, String).self)
            for (name, version) in objects {
                try sandbox.storage.place([0xff, 0xd8, 0xff, 0xe0], bucket: "avatars", key: name, version: version)
            }
            _ = try connection.one(
                """
                select count(request_id)
                from unnest(\(ids)::uuid[]) as account (id)
                cross join accountctl.open_deletion_request(account.id, 'operator', null, interval '0')
                """,
                as: Int64.self
            )
        }
    }

    /// Checks that a worker's run did all its work.
    ///
    /// - Throws: ``BenchmarkError`` if an account, a file or a consent is left.
    func check() async throws {
        let (verified, revoked, users) = try await admin.withConnection { connection in
            try connection.one(
                """
                select
                    (select count(*) from accountctl.deletion_requests where state = 'verified'),
                    (select count(*) from accountctl.deletion_requests where apple_outcome = 'revoked'),
                    (select count(*) from auth.users)
                """,
                as: (Int64, Int64, Int64).self
            )
        }
        let files = sandbox.storage.files(bucket: "avatars").count
        guard verified == Self.accounts, revoked == Self.accounts, users == 0, files == 0 else {
            throw BenchmarkError(
                "\(verified) of \(Self.accounts) verified, \(revoked) revoked, \(users) accounts and \(files) files left"
            )
        }
    }

    /// Deletes the accounts' rows with plain SQL, each account's in one transaction, and returns the time in seconds.
    func deleteBySQL(_ ids: [UUID]) async throws -> Double {
        let names = try await admin.withConnection { connection in
            try connection.query(
                "select owner_id, string_agg(quote_literal(name), ', ') from storage.objects group by owner_id",
                as: (String, String).self
            )
        }
        let namesByOwner = Dictionary(names) { first, _ in first }
        let script = ids.map(\.uuidString).map { $0.lowercased() }
            .map { id in
                """
                begin;
                set local storage.allow_delete_query = 'true';
                delete from storage.objects where bucket_id = 'avatars' and name in (\(namesByOwner[id] ?? "''"));
                delete from auth.users where id = '\(id)';
                commit;

                """
            }
            .joined()
        let file = cluster.folder + "/floor.sql"
        try script.write(toFile: file, atomically: true, encoding: .utf8)
        let psql = try await cluster.psqlProgram
        return try await psql.time([
            "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", cluster.conninfo(database: Self.database), "-f", file,
        ])
    }

    private static let emptying = """
        set storage.allow_delete_query = 'true';
        truncate auth.users, storage.objects, accountctl.deletion_requests, accountctl.jobs, accountctl.job_history cascade;
        reset storage.allow_delete_query
        """

    private static func filling(_ ids: [UUID], _ subs: [String]) -> [Statement] {
        [
            """
            insert into auth.users (
                instance_id, id, aud, role, email, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
            )
            select
                '00000000-0000-0000-0000-000000000000', id, 'authenticated', 'authenticated', id || '@example.com', '{}',
                '{"full_name": "Anna Adler"}', now() - interval '1 day', now()
            from unnest(\(ids)::uuid[]) as id
            """,
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
            select sub, id, jsonb_build_object('sub', sub, 'email', id || '@example.com'), 'apple', now()
            from unnest(\(ids)::uuid[], \(subs)::text[]) as account (id, sub)
            """,
            """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
            select id::text, id, jsonb_build_object('sub', id, 'email', id || '@example.com'), 'email', now()
            from unnest(\(ids)::uuid[]) as id
            """,
            """
            insert into auth.sessions (id, user_id, created_at, updated_at, aal)
            select gen_random_uuid(), id, now(), now(), 'aal1'
            from unnest(\(ids)::uuid[]) as id
            """,
            """
            insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
            select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), user_id, false, now(), now(), id
            from auth.sessions
            """,
            """
            insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata)
            select 'avatars', upper(gen_random_uuid()::text) || '.jpeg', id, id, gen_random_uuid(), '{"size": 4}'
            from unnest(\(ids)::uuid[]) as id
            cross join generate_series(1, 3)
            """,
        ]
    }

    /// Writes the settings and the keys they name, generated for this run.
    private static func writeSettings(
        _ folder: String,
        _ cluster: BenchmarkCluster,
        _ sandbox: Sandbox,
        _ sealing: SealingKey
    ) throws -> String {
        let files = WorkerFiles(folder: folder)
        return try files.writeSettings(
            database: cluster.conninfo(database: database, user: "postgres"),
            sealing: sealing,
            sandbox: sandbox,
            more: """
                [deletion]
                grace = 0s
                token_life = 0s
                upload_life = 0s
                hourly_ceiling = 1000000

                [storage]
                url = \(sandbox.storage.url)
                service_key_file = "\(files.write(sandbox.storage.keys.secretKey + "\n", to: "storage.key"))"
                """
        )
    }
}
