import AccountLifecycle
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("The command line", .timeLimit(.minutes(5)))
struct CommandLineTests {
    @Test func versionAndHelp() async throws {
        let version = try await AccountctlProcess.run("--version")
        #expect(version.status == 0)
        #expect(version.output.hasPrefix("accountctl "))
        let help = try await AccountctlProcess.run("--help")
        #expect(help.status == 0)
        #expect(help.errors.isEmpty)
        for code in ["  0  done", " 75  temporary failure", "130  interrupted"] { #expect(help.output.contains(code)) }
    }

    @Test(
        "What is mistyped is told on standard error, with what was probably meant, and ends with 2",
        arguments: [
            (["migrat", "up"], "Did you mean: accountctl migrate"),
            (["config", "chek"], "Did you mean: accountctl config check"),
            (["config", "check", "--confg", "x"], "--config"),
            (["user", "find"], "term"),
            (["config", "show", "--format", "xml"], "ndjson"),
            (["config", "show", "--json", "key,vlaue"], "Did you mean value?"),
            (["deletion", "list", "--state", "blocked", "--all"], "--all and --state exclude each other"),
            (["apple", "events", "list", "--outcome", "not_conirmed"], "did you mean not_confirmed?"),
            (["deletion", "request", "--file", "ids", "--by", "email"], "--by goes with a term"),
            (["user", "suspend", "anna", "--reason", "spam", "--for", "x"], "--for must be a length of time"),
            (["user", "find", "anna", "--json", "emial"], "Did you mean email?"),
            (["user", "find", "anna", "--json", "emial"], "stands before the option, or behind --"),
            (["user", "find", "--json", "emial", "anna"], "Did you mean email?"),
            (["--tsv", "stat", "user", "list"], "Did you mean state?"),
            (["audit", "list", "--limit", "-1"], "--limit must lie between 1 and 100000"),
            (["user", "list", "--limit", "-1"], "--limit must be at least 1"),
            (["audit", "list", "--action", "del%"], "--action holds \"%\""),
            (["user", "list", "--deletion-state", "verified"], "residue"),
            (["user", "list", "--held", "--no-held"], "--no-held"),
            (["migrate", "up", "--without-profiles", "--visibility", "own"], "exclude each other"),
            (["jobs", "list", "--state", "discarded", "--exhausted"], "--exhausted is of jobs that are not done"),
            (["jobs", "retry", "--state", "discarded", "--exhausted"], "--exhausted is of jobs that are not done"),
            (["jobs", "retry", "--state", "completed"], "--state completed"),
            (["deletion", "request", "--file", "ids", "--rate", "50"], "such as 50/s"),
            (["jobs", "snooze", "1", "--for", "-5m"], "--for must be"),
            (["keys", "new", "x", "--output", ""], "--output is empty"),
            (["config", "show", "--config", ""], "--config is empty"),
        ]
    )
    func mistyped(_ arguments: [String], _ hint: String) async throws {
        let result = try await AccountctlProcess(arguments).result()
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(hint), "\(result.errors)")
    }

    @Test("The help of a list of events knows every outcome")
    func outcomes() async throws {
        let help = try await AccountctlProcess.run("apple", "events", "list", "--help")
        for outcome in CredentialRules.Outcome.allCases.map(\.rawValue) + ["waiting"] {
            #expect(help.output.contains("\n  \(outcome) "), "\(outcome)")
        }
    }

    @Test("--json takes a list of fields as the next word and leaves operands alone")
    func jsonOption() async throws {
        let fields = try await AccountctlProcess.run("config", "show", "--json", "key,value")
        #expect(fields.output.contains(#"{"key":"deletion.grace","value":"1d"}"#))
        let leading = try await AccountctlProcess.run("--json", "config", "show")
        #expect(leading.output.hasPrefix("[\n{\"default\":"))
        try await TestDatabase.with(.migrated) { database in
            let find = try await AccountctlProcess.run(
                "user",
                "find",
                "--json",
                "nobody@example.com",
                environment: database.variables
            )
            #expect(find.output.hasPrefix("[\n{") && find.output.contains(#""state":"not_found""#))
            #expect(find.status == 3)
        }
    }

    @Test(
        "Fields may follow an option before the command; a word with dots is a selection only where columns have such names",
        arguments: [
            (["relay", "check", "--json", "spf.example.com"], ["relay", "check", "--json=all", "spf.example.com"]),
            (["user", "find", "--json", "anna"], ["user", "find", "--json=all", "anna"]),
            (["user", "find", "--", "--json", "emial"], ["user", "find", "--", "--json", "emial"]),
            (["user", "find", "--json", "emil"], ["user", "find", "--json=all", "emil"]),
            (["user", "show", "--reveal", "--csv", "job"], ["user", "show", "--reveal", "--csv=all", "job"]),
            (["relay", "check", "--csv", "spf.example.com"], ["relay", "check", "--csv=all", "spf.example.com"]),
            (["relay", "check", "--tsv", "spf,dkim", "x.de"], ["relay", "check", "--tsv=spf,dkim", "x.de"]),
            (["user", "show", "--json", "auth.email"], ["user", "show", "--json=all", "auth.email"]),
            (["user", "show", "--csv", "auth.email"], ["user", "show", "--csv=auth.email"]),
            (["user", "show", "--tsv", "id,auth.email", "x"], ["user", "show", "--tsv=id,auth.email", "x"]),
            (["user", "show", "--tsv", "example.com"], ["user", "show", "--tsv=all", "example.com"]),
            (["--json", "id,state", "user", "list"], ["user", "list", "--json=id,state"]),
            (["--json", "id", "user", "list"], ["user", "list", "--json=id"]),
            (["--json", "user", "list"], ["user", "list", "--json=all"]),
            (["--csv", "--no-color", "user", "list"], ["user", "list", "--csv=all", "--no-color"]),
            (["jobs", "show", "-1", "--json"], ["jobs", "show", "--json=all", "--", "-1"]),
            (["jobs", "retry", "-1", "--", "2"], ["jobs", "retry", "--", "-1", "2"]),
            (["jobs", "snooze", "1", "--in", "-5m"], ["jobs", "snooze", "1", "--in=-5m"]),
            (["jobs", "list", "-n", "--limit", "-1"], ["jobs", "list", "-n", "--limit=-1"]),
        ]
    )
    func dots(_ words: [String], _ expected: [String]) {
        #expect(CommandWords.normalised(words, root: Accountctl.self) == expected)
    }

    @Test("What has no fields is not printed as if it had", arguments: [["keys", "new", "k1"], ["manual"]])
    func noFields(_ words: [String]) async throws {
        for form in [["--json"], ["--format", "csv"]] {
            let refused = try await AccountctlProcess(words + form).result()
            #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("has no fields"), "\(refused)")
        }
    }

    @Test("Every command has help with an example, and its examples name commands that exist")
    func help() async throws {
        var waiting: [[String]] = [[]]
        var seen = 0
        while let path = waiting.popLast() {
            let result = try await AccountctlProcess(path + ["--help"]).result()
            #expect(result.status == 0, "\(path)")
            #expect(
                result.output.contains("EXAMPLES") || result.output.contains("SUBCOMMANDS:"),
                "\(path) has no example"
            )
            seen += 1
            for line in result.output.split(separator: "\n") where line.hasPrefix("  accountctl ") {
                let words = line.split(separator: " ").dropFirst().prefix { $0.allSatisfy { $0.isLetter || $0 == "-" } }
                let command = words.prefix { !$0.hasPrefix("-") }.map(String.init)
                let example = try await AccountctlProcess(Array(command.prefix(2)) + ["--help"]).result()
                #expect(example.status == 0, "\(line)")
            }
            guard let list = result.output.range(of: "SUBCOMMANDS:") else { continue }
            for line in result.output[list.upperBound...].split(separator: "\n") {
                guard line.hasPrefix("  "), !line.hasPrefix("   "), let name = line.split(separator: " ").first,
                    !line.hasPrefix("  See "), name != "help"
                else { continue }
                let word = String(name.hasSuffix(",") ? name.dropLast() : name)
                if word.allSatisfy({ $0.isLetter || $0 == "-" }) { waiting.append(path + [word]) }
            }
        }
        #expect(seen > 10)
    }

    @Test("A database that does not take the connection says why in a sentence of its own")
    func refusedConnections() async throws {
        try await TestDatabase.with(.empty) { database in
            func status(_ more: [String: String]) async throws -> AccountctlProcess.Result {
                try await AccountctlProcess.run(
                    "migrate",
                    "status",
                    environment: database.variables.merging(more) { $1 }
                )
            }
            for (more, code, said) in [
                (
                    ["PGUSER": "nobody_here"], Int32(4),
                    #"the database does not let this role in: role "nobody_here" does not exist"#
                ),
                (
                    ["PGDATABASE": "none_such"], 2,
                    #"the connection string is not right: database "none_such" does not exist"#
                ),
                (
                    ["PGHOST": "127.0.0.1"], 4,
                    "the database does not let this role in: it asks for a password, and none was given"
                ),
                (["PGHOST": "/nowhere"], 75, "cannot reach the database: connection to server on socket"),
            ] {
                let failed = try await status(more)
                #expect(failed.status == code && failed.errors.contains(said), "\(failed)")
                #expect(!failed.errors.contains("LOCATION") && !failed.errors.contains("\t"), "\(failed)")
                #expect(!failed.errors.contains("\\t") && !failed.errors.contains("FATAL"), "\(failed)")
            }
            let closed = try await ClosedPort.with { try await status(["PGHOST": "127.0.0.1", "PGPORT": "\($0)"]) }
            #expect(closed.status == 75 && closed.errors.contains("Is the server running"), "\(closed)")
            #expect(!closed.errors.contains("\t") && !closed.errors.contains("\\t"), "\(closed)")
            let words = #"password authentication failed for user "u""#
            let wrong = try await RefusingServer.with("28P01", words) {
                try await status(["PGHOST": "127.0.0.1", "PGPORT": "\($0.port)", "PGSSLMODE": "disable"])
            }
            #expect(wrong.status == 4 && wrong.errors.contains("does not let this role in: \(words)"), "\(wrong)")
            try await database.psql("alter database \(database.name) connection limit 0")
            let full = try await status([:])
            #expect(
                full.status == 75 && full.errors.contains("the database takes no connection now: too many"),
                "\(full)"
            )
        }
    }

    @Test("Failures have the documented exit codes")
    func exitCodes() async throws {
        let away = try await AccountctlProcess.run("migrate", "status", "--database-url", "host=/nowhere")
        #expect(away.status == 75)
        let refused = try await AccountctlProcess.run("config", "check", "--config", "/nowhere.conf")
        #expect(refused.status == 2)
        #expect(refused.errors.contains("No such file"))
        let folder = try await AccountctlProcess.run("config", "check", "--config", "/")
        #expect(folder.status == 2 && folder.errors.contains("Is a directory"), "\(folder)")
        let check = "\(AccountctlProcess.path) config check --config /dev/stdin"
        for section in ["deletion", "environments.live.deletion"] {
            let piped = "printf '[\(section)]\\ngrace = soon\\n' | \(check)"
            let pipe = try await AccountctlProcess(["-c", piped], program: "/bin/sh").result()
            #expect(pipe.status == 2 && pipe.output.contains("error: /dev/stdin:2: \(section).grace"), "\(pipe)")
        }
        try await TestDatabase.with(.platform) { database in
            let stranger = database.variables.merging(["PGUSER": "nobody_of_that_name"]) { $1 }
            #expect(try await AccountctlProcess.run("migrate", "status", environment: stranger).status == 4)
            let nobody = try await AccountctlProcess.run("user", "show", "nobody@x.de", environment: database.variables)
            #expect(nobody.status == 3)
            #expect(nobody.output.isEmpty)
            #expect(try await AccountctlProcess.run("migrate", "verify", environment: database.variables).status == 1)
            #expect(try await AccountctlProcess.run("migrate", "status", environment: database.variables).status == 1)
        }
    }

    @Test("config check reads the keys that the settings name, and reports all that keeps a worker from starting")
    func configCheck() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("check-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
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

        let keys = try await TestKeys.make()
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
        #expect(nothing.lines.allSatisfy { $0.hasPrefix("error: default: keys.") }, "\(nothing)")

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
        // What a worker starts with all the same.
        let url = ["ACCOUNTCTL_CONFIG": try file("password", "production = no\ndatabase.url = host=h password=x\n")]
        let warned = try await check(keys.variables.merging(url) { $1 })
        #expect(warned.status == 0 && warned.lines.first?.hasPrefix("warning: ") == true, "\(warned)")
        let one = try file("one", try await AccountctlProcess.run("keys", "new", "one").output)
        let same = try await check(["ACCOUNTCTL_KEYS_SEALING_FILE": one, "ACCOUNTCTL_KEYS_HASH_FILE": one])
        #expect(same.status == 2 && same.lines.count == 1 && same.lines[0].contains("the same key"), "\(same)")
    }

    @Test("A reader that goes away and a disk that is full are told apart")
    func outputTrouble() async throws {
        let pipe = Pipe.closedOnExec()
        try pipe.fileHandleForReading.close()
        let closed = try AccountctlProcess(["config", "show"], output: pipe.fileHandleForWriting)
        let result = try await closed.result()
        #expect(result.status == 141)
        #expect(result.errors.isEmpty)
        let full = try AccountctlProcess(
            ["config", "show"],
            output: FileHandle(forWritingTo: URL(fileURLWithPath: "/dev/full"))
        )
        let failed = try await full.result()
        #expect(failed.status == 1)
        #expect(failed.errors.contains("No space left"))
    }

    @Test("A password on the command line is warned of and never repeated")
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

    @Test("A secret from standard input serves a command that uses the settings more than once")
    func secretFromInput() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let found = try await AccountctlProcess(
                ["user", "show", OperatorStage.id(1)],
                environment: stage.variables.merging(["ACCOUNTCTL_DATABASE_PASSWORD_FILE": "-"]) { $1 },
                input: "s3cret\n"
            ).result()
            #expect(found.status == 0, "\(found.errors)")
        }
    }

    @Test("Nothing that somebody calls himself reaches the terminal raw")
    func hostileNames() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into auth.users (instance_id, id, email, created_at)
                values ('00000000-0000-0000-0000-000000000000', '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f',
                        E'a\\u001b[2J@\\u202eexample.com', now());
                update public.profiles
                set username = E'x\\u001b]0;owned\\u0007', full_name = E'line\\nbreak\\u009b31m'
                where id = '8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f';
                """
            )
            for arguments in [
                ["user", "find", "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"],
                ["user", "show", "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"],
                ["user", "show", "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f", "--json"],
                ["user", "find", "x\u{1B}]0;owned\u{7}"],
                ["user", "find", "nobody\u{1B}[31m"],
                ["user", "find", "x", "--by", "\u{1B}[31m"],
            ] {
                let result = try await AccountctlProcess(arguments, environment: database.variables).result()
                let written = result.output + result.errors
                let harmful = written.unicodeScalars.filter { scalar in
                    (scalar.value < 0x20 && scalar != "\n") || (0x7F...0x9F).contains(scalar.value)
                        || scalar == "\u{202E}"
                }
                #expect(harmful.isEmpty, "\(arguments)")
            }
        }
    }

    @Test("Help for a command that does not exist is a mistake, and says what was probably meant")
    func helpOfNothing() async throws {
        for (words, meant) in [
            (["help", "usr"], "accountctl user"), (["help", "user", "fnd"], "accountctl user find"),
        ] {
            let result = try await AccountctlProcess(words).result()
            #expect(result.status == 2 && result.output.isEmpty, "\(words)")
            #expect(result.errors.contains("Did you mean: \(meant)\n"), "\(result.errors)")
        }
        #expect(try await AccountctlProcess.run("help").output.contains("USAGE: accountctl <subcommand>"))
    }

    @Test("A file of keys is never replaced; a key is added to it under an id of its own")
    func keyFiles() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
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
            (["b", "--output", path], "there already"), (["a", "--output", path, "--append"], "has a key a already"),
            (["b", "--append"], "--output"), (["b", "--output", "-", "--append"], "--output"),
        ] {
            let refused = try await AccountctlProcess(["keys", "new"] + words).result()
            #expect(refused.status == 2 && refused.errors.contains(said), "\(words): \(refused)")
            #expect(try text() == before)
        }
        // The hash file has one key, by whatever name it is called.
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
        // One that an editor left without its last line's end.
        try before.dropLast().write(toFile: path, atomically: false, encoding: .utf8)
        let second = try await make("b", "--output", path, "--append")
        #expect(second.status == 0, "\(second)")
        let lines = try text().split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 3 && lines[0] + "\n" == before && lines[1].hasPrefix("b:") && lines[2].isEmpty)
    }

    @Test("A stream that is closed from the start is no other file that is opened later")
    func closedStreams() async throws {
        let script = "exec \"$0\" keys new a"
        func run(_ closed: String) async throws -> AccountctlProcess.Result {
            let words = ["-c", script + closed, AccountctlProcess.path]
            return try await AccountctlProcess(words, program: "/bin/sh").result()
        }
        let output = try await run(" >&-")
        #expect(output.status == 1 && output.errors.contains("Bad file descriptor"), "\(output.errors)")
        let errors = try await run(" 2>&- <&-")
        #expect(errors.status == 0 && errors.output.hasPrefix("a:"), "\(errors.output)")
    }
}
