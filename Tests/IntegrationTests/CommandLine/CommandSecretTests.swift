import Foundation
import TestSupport
import Testing

@Suite("Keys and secrets that commands read and create", .timeLimit(.minutes(5)))
struct CommandSecretTests {
    @Test("config check reads the key files, and reports everything that prevents a worker from starting")
    func configCheck() async throws {
        let folder = try TemporaryFolder("check").url
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ text: String) throws -> String {
            let path = folder.appendingPathComponent(name).path
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }
        func check(_ variables: [String: String]) async throws -> (status: Int32, lines: [String]) {
            let result = try await AccountctlProcess.run("config", "check", environment: variables)
            return (result.status, result.output.split(separator: "\n").map(String.init))
        }

        let keys = try TestKeys.make()
        defer { keys.remove() }
        #expect(try await check(keys.variables).status == 0)
        let elsewhere = try file("environments", "environment = staging\n[environments.live.deletion]\ngrace = soon\n")
        let other = try await check(keys.variables.merging(["ACCOUNTCTL_CONFIG": elsewhere]) { $1 })
        #expect(other.status == 2 && other.lines.count == 1, "\(other)")
        let line = "error: \(elsewhere):3: environments.live.deletion.grace: "
        #expect(other.lines.first?.hasPrefix(line) == true, "\(other)")
        let nothing = try await check([:])
        #expect(nothing.status == 2)
        #expect(nothing.lines.count == 2, "\(nothing)")
        #expect(nothing.lines.allSatisfy { $0.hasPrefix("error: keys.") }, "\(nothing)")
        // An empty variable names no file; in other tests, it names an empty one.
        let unread = try await AccountctlProcess.run("config", "check", environment: ["ACCOUNTCTL_CONFIG": ""])
        #expect(unread.errors.hasPrefix("No settings file was read: none is named"), "\(unread)")
        let shown = try await AccountctlProcess.run("config", "show", environment: ["ACCOUNTCTL_CONFIG": ""])
        #expect(shown.status == 0 && shown.errors.hasPrefix("No settings file was read: none is named"), "\(shown)")
        for (command, status) in [("check", 2), ("show", 0)] {
            let read = try await AccountctlProcess.run("config", command, "--config", elsewhere)
            #expect(read.status == status && !read.errors.contains("No settings file"), "\(read)")
        }

        let wrong = try await check([
            "ACCOUNTCTL_DATABASE_URL": "host=db.test port",
            "ACCOUNTCTL_DELETION_GRACE": "soon",
            "ACCOUNTCTL_KEYS_SEALING_FILE": try file("sealing", "first:c2hvcnQ=\nsecond\n"),
            "ACCOUNTCTL_KEYS_HASH_FILE": folder.appendingPathComponent("none").path,
            "ACCOUNTCTL_LISTEN_PUBLIC": ":8080",
            "ACCOUNTCTL_STORAGE_URL": "https://storage.test:port",
            "ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": try file("storage", "sb_publishable_x"),
        ])
        #expect(wrong.status == 2)
        for (key, said) in [
            ("DATABASE_URL: database.url", "missing"), ("DELETION_GRACE: deletion.grace", "a length of time"),
            ("KEYS_SEALING_FILE: keys.sealing_file", "line 1: key \"first\" has 5 bytes, expected 32"),
            ("KEYS_SEALING_FILE: keys.sealing_file", "line 2: not of the form id:base64"),
            ("KEYS_HASH_FILE: keys.hash_file", "No such file"),
            ("LISTEN_PUBLIC: listen.public", "Sign in with Apple is not configured"),
            ("STORAGE_URL: storage.url", "not a number from 1 to 65535"),
            ("STORAGE_SERVICE_KEY_FILE: storage.service_key_file", "publishable"),
        ] {
            let isTold = wrong.lines.contains { $0.hasPrefix("error: variable ACCOUNTCTL_" + key) && $0.contains(said) }
            #expect(isTold, "\(key) \(said): \(wrong.lines)")
        }
        #expect(wrong.lines.count == 8)
        // A worker starts in spite of a warning.
        let url = ["ACCOUNTCTL_CONFIG": try file("password", "production = no\ndatabase.url = host=h password=x\n")]
        let warned = try await check(keys.variables.merging(url) { $1 })
        #expect(warned.status == 0 && warned.lines.first?.hasPrefix("warning: ") == true, "\(warned)")
        let one = try file("one", try await AccountctlProcess.run("keys", "new", "one").output)
        let same = try await check(["ACCOUNTCTL_KEYS_SEALING_FILE": one, "ACCOUNTCTL_KEYS_HASH_FILE": one])
        #expect(same.status == 2 && same.lines.count == 1 && same.lines[0].contains("the same key"), "\(same)")
    }

    @Test("A password on the command line causes a warning and is never printed")
    func password() async throws {
        let result = try await AccountctlProcess.run(
            "migrate",
            "status",
            "--database-url",
            "postgresql://u:s3cret@127.0.0.1:1/db"
        )
        #expect(result.errors.contains("can be read by everybody"))
        #expect(!result.errors.contains("s3cret"))
        let shown = try await AccountctlProcess.run(
            "config",
            "show",
            "--json",
            "key,value",
            "--database-url",
            "host=h password='s3 cret' dbname=d"
        )
        #expect(!shown.output.contains("s3 cret"))
        for text in [
            "sslpassword=x host=h password=s3cret", "user=password host=h password=s3cret",
            "postgresql://u:s3cret@h/db?sslpassword=s3cret", "postgresql://h/db?password=s3cret",
            "host=h 'password=s3cret",
        ] {
            let shown = try await AccountctlProcess.run("config", "show", "--database-url", text)
            #expect(shown.output.contains("database.url"))
            #expect(!shown.output.contains("s3cret"), "\(text)")
            let warned = try await AccountctlProcess.run("migrate", "status", "--database-url", text)
            #expect(warned.errors.contains("can be read by everybody"), "\(text)")
        }
    }

    @Test("A secret from standard input is available to a command that reads the settings more than once")
    func secretFromInput() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let found = try await AccountctlProcess(
                ["user", "show", OperatorStage.id(1)],
                environment: stage.variables.merging(["ACCOUNTCTL_DATABASE_PASSWORD_FILE": "-"]) { $1 },
                input: "s3cret\n"
            ).result()
            #expect(found.status == 0, "\(found.errors)")
        }
    }

    @Test("A key file is never overwritten; a key is appended to it only under a new id")
    func keyFiles() async throws {
        let folder = try TemporaryFolder("keys").url
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("sealing.keys").path
        func text() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
        func make(_ words: String...) async throws -> AccountctlProcess.Result {
            try await AccountctlProcess(["keys", "new"] + words).result()
        }
        let none = try await make("a", "--output", path, "--append")
        #expect(none.status == 2 && none.errors.contains("No such file"), "\(none)")
        let first = try await make("a", "--output", path)
        #expect(first.status == 0 && first.output.isEmpty, "\(first)")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let before = try text()
        #expect(
            before.hasPrefix("a:") && before.hasSuffix("\n") && !first.errors.contains(before.dropFirst(2).prefix(8))
        )
        for (words, said) in [
            (["b", "--output", path], "exists already"), (["a", "--output", path, "--append"], "has a key a already"),
            (["b", "--append"], "--output"), (["b", "--output", "-", "--append"], "--output"),
        ] {
            let refused = try await AccountctlProcess(["keys", "new"] + words).result()
            #expect(refused.status == 2 && refused.errors.contains(said), "\(words): \(refused)")
            #expect(try text() == before)
        }
        // The hash file has one key, also when it is named through a link.
        let link = folder.appendingPathComponent("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        for name in [path, link] {
            let hash = try await AccountctlProcess.run(
                "keys",
                "new",
                "b",
                "--output",
                name,
                "--append",
                environment: ["ACCOUNTCTL_KEYS_HASH_FILE": path]
            )
            #expect(hash.status == 2 && hash.errors.contains("is the file of keys.hash_file"), "\(hash)")
            #expect(try text() == before)
        }
        try FileManager.default.removeItem(atPath: link)
        let printed = try await AccountctlProcess(["keys", "new", "b", "--output", "-"], directory: folder).result()
        #expect(printed.status == 0 && printed.output.hasPrefix("b:"), "\(printed)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["sealing.keys"])
        // An editor has left the file without a newline at its end.
        try before.dropLast().write(toFile: path, atomically: false, encoding: .utf8)
        let second = try await make("b", "--output", path, "--append")
        #expect(second.status == 0, "\(second)")
        let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines[0] + "\n" == before && lines[1].hasPrefix("b:") && lines[2].isEmpty)
    }
}
