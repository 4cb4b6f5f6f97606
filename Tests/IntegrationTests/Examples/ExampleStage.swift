import Foundation
import Postgres
import Sandbox
import TestSupport

/// An environment in which every example can run.
///
/// The accounts, requests and jobs that examples name exist, and so do stand-ins for what they name of the reader's: a
/// resolver, and files in a folder of the stage's own.
struct ExampleStage: Sendable {
    static let anna = "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"
    static let hidden = "6a4b2f0e-0000-4000-8000-000000000000"
    static let team = "ABCDE12345"

    let database: TestDatabase
    let sandbox: Sandbox
    /// One connection of the superuser, kept since a new session reads the catalog anew, which takes most of a reset.
    private let admin: Pool
    /// The folder in which the examples are run, which holds `ids.txt`, `requests.txt` and `jobs.ndjson`.
    let folder: URL
    private let variables: [String: String]
    private let resolver: String

    /// Runs `body` with a stage that the program itself has set up, as the documentation says.
    static func with(_ body: @Sendable (ExampleStage) async throws -> Void) async throws {
        try await TestDatabase.withPlatform { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("examples-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            for name in ["bin", "etc", "keys"] {
                try FileManager.default.createDirectory(
                    at: folder.appendingPathComponent(name),
                    withIntermediateDirectories: true
                )
            }
            try await ZoneServer.withServer(zone) { server in
                let files = folder.appendingPathComponent("files").path
                try await Sandbox.with(SandboxConfiguration(storageOf: database, files: files)) { sandbox in
                    let variables = [
                        "PATH": folder.path + "/bin:/usr/bin:/bin", "HOME": folder.path, "ACCOUNTCTL_OPERATOR": "olga",
                        "ACCOUNTCTL_CONFIG": folder.path + "/accountctl.conf",
                    ]
                    try await database.withPool(asAdministrator: true, maximumConnections: 1) { admin in
                        let stage = ExampleStage(
                            database: database,
                            sandbox: sandbox,
                            admin: admin,
                            folder: folder,
                            variables: variables,
                            resolver: server.address
                        )
                        try await stage.setUp()
                        try await body(stage)
                    }
                }
            }
        }
    }

    /// Starts a command line as a shell would.
    func start(_ line: String, environment: [String: String] = [:], input: String? = nil) throws -> AccountctlProcess {
        try AccountctlProcess(
            ["-c", "set -e -o pipefail; umask 077; " + real(line)],
            environment: variables.merging(environment) { $1 },
            input: input,
            program: "/bin/bash",
            directory: folder
        )
    }

    /// The line with the parts replaced that depend on the reader's environment.
    func real(_ line: String) -> String {
        let own = ExampleRules.replaced + [(part: "127.0.0.1:5353", real: resolver)]
        return own.reduce(ExampleRules.stands[line] ?? line) { $0.replacingOccurrences(of: $1.part, with: $1.real) }
    }

    /// Restores all rows as they were when the stage was set up.
    func reset() async throws {
        try await admin.withConnection { try $0.execute("select example_stage.restore()") }
    }

    /// A hash over all rows.
    func fingerprint() async throws -> String {
        try await database.psql("select example_stage.fingerprint()")
    }

    // MARK: - Setting up

    private func setUp() async throws {
        try script("accountctl", "exec \(AccountctlProcess.path) \"$@\"")
        // Stand-ins for the clipboard of macOS and for the reader of manual pages.
        try script("pbpaste", "cat secret.txt")
        try script("man", "cat")
        try await writeSettings()
        try await must("accountctl migrate up")
        try await database.psql(Self.numbers)
        let names = try signUp()
        try await database.psql(Self.people + names)
        // The first act becomes line 42 of the log, about anna.
        try await must("accountctl deletion request anna@example.com --confirm=\(Self.anna)")
        try await must("accountctl user hold blocked@example.com --reason \"court order\"")
        try await must(
            "accountctl relay stream add news example.com --envelope send.example.com --include _spf.esp.example "
                + "--selector s1=s1.esp.example --registered example.com --registered send.example.com"
        )
        for _ in 0..<2 {
            // A verdict needs two checks that agree. The first worker also exchanges the sign-in's authorization code.
            try await database.psql(Self.mailCheck)
            try await must("accountctl worker --until-idle")
        }
        try await database.psql(Self.jobs)
        try await must("accountctl apple client-secret print com.example.web > secret.txt")
        let ids = try await database.psql("select id from auth.users where email like 'idle%' order by id")
        try write("ids.txt", ids + "\n")
        let requests = try await database.psql("select id from accountctl.deletion_requests where finished_at is null")
        try write("requests.txt", requests + "\n")
        try write("jobs.ndjson", #"{"kind": "deletion.upkeep", "unique_key": "deletion.upkeep"}"# + "\n")
        try write("bounce.eml", "550 5.1.1 <bounce@send.example.com>: unauthorized sender\r\n")
        try await database.psql(Self.keeping)
    }

    /// Signs two people in with Apple, and returns the statements that record them in the database.
    private func signUp() throws -> String {
        let anna = try sandbox.apple.signIn(
            clientID: "com.example.app",
            sub: "001234.0123456789abcdef0123456789abcdef.0123",
            email: "anna@example.com"
        )
        let relay = "abc123@privaterelay.appleid.com"
        let hidden = try sandbox.apple.signIn(clientID: "com.example.app", email: relay, hidesEmail: true)
        return """
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at, last_sign_in_at)
            values
                ('\(anna.sub)', '\(Self.anna)', '{"email": "anna@example.com"}', 'apple', now(), now()),
                ('\(hidden.sub)', '\(Self.hidden)',
                 '{"email": "\(relay)", "custom_claims": {"is_private_email": true}}', 'apple', now(), now());
            set role authenticated;
            select set_config('request.jwt.claims', '{"sub": "\(Self.anna)"}', false);
            select public.submit_apple_authorization_code('\(anna.authorizationCode)', 'com.example.app');
            """
    }

    private func writeSettings() async throws {
        let developer = sandbox.apple.developerKey
        try write("keys/apple.p8", developer.privateKey)
        try write("keys/storage.key", sandbox.storage.keys.secretKey)
        try write("keys/access.token", sandbox.project.token)
        for name in ["sealing", "hash"] {
            try write("keys/" + name, try TestKeys.line(name))
        }
        try write(
            "accountctl.conf",
            """
            [database]
            url = host=\(database.cluster.socket) port=\(database.cluster.port) user=postgres dbname=\(database.name)
            [storage]
            url = \(sandbox.storage.url)
            service_key_file = \(folder.path)/keys/storage.key
            [apple]
            host = \(sandbox.baseURL)
            team_id = \(developer.teamID)
            key_id = \(developer.keyID)
            private_key_file = \(folder.path)/keys/apple.p8
            client_ids = com.example.app, com.example.web
            [supabase]
            project = \(sandbox.project.reference)
            host = \(sandbox.baseURL)
            access_token_file = \(folder.path)/keys/access.token
            [keys]
            sealing_file = \(folder.path)/keys/sealing
            hash_file = \(folder.path)/keys/hash
            [deletion]
            token_life = 0s
            upload_life = 0s
            [mail]
            resolvers = \(resolver)
            [listen]
            admin = 127.0.0.1:0
            [environments.staging.deletion]
            grace = 2h

            """
        )
    }

    /// Runs a line, and throws unless it exits with 0.
    private func must(_ line: String) async throws {
        let result = try await start(line).result()
        guard result.status == 0 else { throw TestSupportError("\(line): \(result.errors)") }
    }

    /// The text of a file in the folder.
    func text(_ name: String) throws -> String {
        try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    }

    /// Writes a file that only its owner can read.
    func write(_ name: String, _ text: String) throws {
        try SecretFile.write(text, to: folder.appendingPathComponent(name))
    }

    private func script(_ name: String, _ line: String) throws {
        try write("bin/" + name, "#!/bin/sh\n\(line)\n")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700],
            ofItemAtPath: folder.appendingPathComponent("bin/" + name).path
        )
    }
}
