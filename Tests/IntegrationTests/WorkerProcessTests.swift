import Foundation
import TestSupport
import Testing

@Suite("The worker as a process")
struct WorkerProcessTests {
    private func withKeys(_ body: @Sendable ([String: String]) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var variables: [String: String] = [:]
        for (name, key) in [("sealing", "ACCOUNTCTL_KEYS_SEALING_FILE"), ("hash", "ACCOUNTCTL_KEYS_HASH_FILE")] {
            let path = folder.appendingPathComponent(name).path
            let line = try await AccountctlProcess.run("keys", "new", name).output
            #expect(
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(line.utf8),
                    attributes: [.posixPermissions: 0o600]
                )
            )
            variables[key] = path
        }
        try await body(variables)
    }

    @Test("Ends by itself when idle, and well when asked")
    func ends() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.migrated) { database in
                let variables = database.variables.merging(keys) { $1 }
                let idle = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                #expect(idle.status == 0, "\(idle.errors)")
                let service = try AccountctlProcess(["worker"], environment: variables)
                #expect(try await service.waitForErrors(containing: "worker registered"))
                service.signal(SIGTERM)
                #expect(try await service.result().status == 0)
                let stopped = "select count(*) from accountctl.worker_status where status = 'shutdown'"
                #expect(try await database.psql(stopped) == "2")
            }
        }
    }

    @Test("Without keys, without the schema and with settings that are not right it does not start, and says why")
    func refuses() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.platform) { database in
                let missing = try await AccountctlProcess.run(
                    "worker",
                    environment: database.variables.merging(keys) { $1 }
                )
                #expect(missing.status == 1)
                #expect(missing.errors.contains("accountctl migrate up"))
            }
            try await TestDatabase.with(.migrated) { database in
                let keyless = try await AccountctlProcess.run("worker", environment: database.variables)
                #expect(keyless.status == 2)
                #expect(keyless.errors.contains("keys.sealing_file"))
                let same = [
                    "ACCOUNTCTL_KEYS_SEALING_FILE": keys["ACCOUNTCTL_KEYS_HASH_FILE"] ?? "",
                    "ACCOUNTCTL_KEYS_HASH_FILE": keys["ACCOUNTCTL_KEYS_HASH_FILE"] ?? "",
                ]
                let twice = try await AccountctlProcess.run(
                    "worker",
                    environment: database.variables.merging(same) { $1 }
                )
                #expect(twice.status == 2)
                #expect(twice.errors.contains("the same key"))
                let wrong = database.variables.merging(keys) { $1 }.merging(["ACCOUNTCTL_DELETION_GRACE": "soon"]) {
                    $1
                }
                let settings = try await AccountctlProcess.run("worker", environment: wrong)
                #expect(settings.status == 2)
                #expect(settings.errors.contains("deletion.grace"))
            }
        }
    }

    @Test("The doctor finds nothing wrong with a sound database, and what is wrong with a broken one")
    func doctor() async throws {
        try await withKeys { keys in
            try await TestDatabase.withPlatform { database in
                let variables = database.variables.merging(keys) { $1 }
                #expect(try await AccountctlProcess.run("migrate", "up", environment: variables).status == 0)
                #expect(try await AccountctlProcess.run("worker", "--until-idle", environment: variables).status == 0)
                let sound = try await AccountctlProcess.run(
                    "doctor",
                    "--database-only",
                    "--json",
                    environment: variables
                )
                #expect(!sound.output.contains("\"error\""), "\(sound.output)")
                try await database.psql("create table public.posts (author uuid references auth.users)")
                let result = try await AccountctlProcess.run(
                    "doctor",
                    "--database-only",
                    "--json",
                    "severity,code,what",
                    environment: variables
                )
                #expect(result.output.contains("public.posts refers to auth.users"))
                #expect(result.output.contains("deletion.missing_index"))
                let blind = database.variables.merging(["PGUSER": "authenticator"]) { $1 }
                let unable = try await AccountctlProcess.run("doctor", "--database-only", "--json", environment: blind)
                #expect(unable.status != 0)
            }
        }
    }
}
