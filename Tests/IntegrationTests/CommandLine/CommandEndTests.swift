import Foundation
import TestSupport
import Testing

@Suite("Exit codes and output streams of commands", .timeLimit(.minutes(5)))
struct CommandEndTests {
    @Test("Each reason for a refused database connection has its own message")
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
                    #"the database refuses the login: role "nobody_here" does not exist"#
                ),
                (
                    ["PGDATABASE": "none_such"], 2,
                    #"the connection string is not valid: database "none_such" does not exist"#
                ),
                (
                    ["PGHOST": "127.0.0.1"], 4,
                    "the database refuses the login: it asks for a password, but none was given"
                ),
                (["PGHOST": "127.0.0.1", "PGSSLMODE": "require"], 2, "or use sslmode=disable"),
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
            #expect(!closed.errors.contains("IPv6"), "\(closed)")
            // The command that says so if no settings file was read.
            #expect(closed.errors.contains("; accountctl config show says "), "\(closed)")
            let words = #"password authentication failed for user "u""#
            let wrong = try await RefusingServer.with("28P01", words) {
                try await status(["PGHOST": "127.0.0.1", "PGPORT": "\($0.port)", "PGSSLMODE": "disable"])
            }
            #expect(wrong.status == 4 && wrong.errors.contains("the database refuses the login: \(words)"), "\(wrong)")
            try await database.psql("alter database \(database.name) connection limit 0")
            let full = try await status([:])
            #expect(
                full.status == 75 && full.errors.contains("the database accepts no connections at present: too many"),
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

    @Test("A closed pipe and a full disk end a command in different ways")
    func outputTrouble() async throws {
        // Help and version are printed on another path than the results of commands.
        for words in [["config", "show"], ["--help"], ["jobs", "--help"], ["jobs"], ["help", "jobs"], ["--version"]] {
            let pipe = Pipe.closedOnExec()
            try pipe.fileHandleForReading.close()
            let closed = try AccountctlProcess(words, output: pipe.fileHandleForWriting)
            let result = try await closed.result()
            #expect(result.status == 141, "\(words): \(result)")
            #expect(result.errors.isEmpty, "\(words): \(result)")
            let full = try AccountctlProcess(
                words,
                output: FileHandle(forWritingTo: URL(fileURLWithPath: "/dev/full"))
            )
            let failed = try await full.result()
            #expect(failed.status == 1, "\(words): \(failed)")
            #expect(failed.errors == "error: cannot write the output: No space left on device\n", "\(words): \(failed)")
        }
    }

    @Test("Control characters in user-supplied names never reach the terminal")
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

    @Test("The descriptor of a stream that was closed at the start is not reused for another file")
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
