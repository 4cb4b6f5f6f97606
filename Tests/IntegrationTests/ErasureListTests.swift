import Foundation
import TestSupport
import Testing

@Suite("The list of erasures", .timeLimit(.minutes(5)))
struct ErasureListTests {
    /// Runs a command that has to work, and returns what it prints.
    @discardableResult
    private func must(_ words: [String], _ variables: [String: String]) async throws -> String {
        let result = try await AccountctlProcess(words, environment: variables).result()
        #expect(result.status == 0, "\(words): \(result.errors)")
        return result.output
    }

    private func write(_ text: String, _ name: String, _ stage: OperatorStage) throws -> String {
        let path = stage.path(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Expects facts in the output of `--json`.
    private func expect(_ facts: [String: Any], in output: String, _ comment: Comment? = nil) throws {
        let told = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any], comment)
        for (name, value) in facts {
            #expect("\(told[name] ?? "-")" == "\(value)", "\(name) in \(output)")
        }
    }

    private let requests = """
        select coalesce(string_agg(r::text, ',' order by r.id), '-')
            || (select count(*) from accountctl.operator_log)
        from accountctl.deletion_requests as r
        """

    @Test(
        "After a restore what was erased, asked for, cancelled and paused since is so again, and nobody else is touched"
    )
    func replay() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let database = site.database
            func id(_ number: Int) async throws -> String {
                try await database.psql("select id from auth.users where email = 'stays\(number)@example.com'")
            }
            let (erased, lost, cancelled, paused) = (
                try await id(1), try await id(2), try await id(3), try await id(5)
            )
            for user in [cancelled, paused] {
                try await must(["deletion", "request", user, "--confirm=\(user)"], site.variables)
            }
            let backup = try await TableBackup(of: database)
            try await must(["deletion", "rehearse", erased, "--confirm=\(erased)", "--no-input"], site.variables)
            try await must(
                ["deletion", "request", lost, "--confirm=\(lost)", "--grace-seconds", "864000"],
                site.variables
            )
            try await must(["deletion", "cancel", cancelled], site.variables)
            try await must(["deletion", "pause", paused], site.variables)
            let times = """
                select date_trunc('second', t.requested), date_trunc('second', t.due), date_trunc('second', t.deadline)
                from accountctl.deletion_requests as r
                -- The list has milliseconds, rounded.
                cross join lateral (
                    select r.requested_at + '0.5 ms', r.run_after + '0.5 ms', r.legal_deadline + '0.5 ms'
                ) as t (requested, due, deadline)
                where user_id = '\(lost)'
                """
            let before = try await database.psql(times)
            let list = try await must(["deletion", "export"], site.variables)
            #expect(list.split(separator: "\n").count == 6)
            for text in [erased, lost, cancelled, paused, "@"] { #expect(!list.contains(text), "\(list)") }
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try list.write(toFile: path, atomically: true, encoding: .utf8)
            let command = ["deletion", "replay", path]

            // As it stands there is nothing to repeat.
            try expect(["outcome": "unchanged"], in: try await must(command + ["--json"], site.variables))
            try await backup.restore(to: database)
            let restored = try await database.psql(requests)
            let dry = try await must(command + ["--dry-run", "--json"], site.variables)
            try expect(
                [
                    "outcome": "would_be_done", "erase": 1, "reopen": 1, "cancel": 1, "pause": 1,
                    "confirm": "--confirm=4",
                ],
                in: dry
            )
            #expect(!dry.contains(erased) && dry.contains(erased.prefix(6) + "***"), "\(dry)")
            let asked = try await AccountctlProcess(command, environment: site.variables).result()
            #expect(asked.status == 2 && asked.errors.contains("--confirm=4"), "\(asked.errors)")
            #expect(try await database.psql(requests) == restored)

            let done = try await must(
                command + ["--confirm=4", "--ticket", "T-9", "--reason", "disk died", "--json"],
                site.variables
            )
            try expect(["outcome": "done", "erase": 1, "reopen": 1, "cancel": 1, "pause": 1], in: done)
            let states = """
                select string_agg(
                    right(split_part(u.email, '@', 1), 1) || r.state || case when r.paused_at is null then '' else ' paused' end,
                    ',' order by u.email
                )
                from accountctl.deletion_requests as r
                join auth.users as u on u.id = r.user_id
                """
            #expect(try await database.psql(states) == "1requested,2grace,3cancelled,5grace paused")
            #expect(try await database.psql(times) == before)
            let told = """
                select distinct reason, origin
                from accountctl.deletion_requests
                where user_id in ('\(erased)', '\(lost)')
                """
            let reason = "repeated from the list of erasures, after a restore: disk died"
            #expect(try await database.psql(told) == "\(reason)|operator")
            let log = """
                select action, count(*), count(*) filter (where facts ? 'replays'), count(distinct subject_hash)
                from accountctl.operator_log
                where ticket = 'T-9' and reason = '\(reason)'
                group by 1
                order by 1
                """
            #expect(
                try await database.psql(log)
                    == "deletion.cancel|1|0|1\ndeletion.pause|1|0|1\ndeletion.request|2|2|2"
            )

            for _ in 0..<2 {
                let again = try await must(command + ["--json", "--confirm=4"], site.variables)
                try expect(["outcome": "unchanged", "erase": 0, "reopen": 0, "cancel": 0, "pause": 0], in: again)
                try await must(["worker", "--until-idle"], site.variables)
            }
            // Who looked, and let it go on, is not asked again.
            try await must(["deletion", "resume", paused], site.variables)
            try expect(["outcome": "unchanged", "open": 2], in: try await must(command + ["--json"], site.variables))
            let ended = try await AccountctlProcess(["user", "find", erased], environment: site.variables).result()
            #expect(ended.errors.contains("was erased on"), "\(ended)")
            #expect(try await database.psql("select count(*) from auth.users") == "4")
        }
    }

    @Test("What somebody decided about since stays so, and so does another account of the same id")
    func decided() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(4)
            let database = stage.database
            let backup = try await TableBackup(of: database)
            for number in 1...3 {
                let id = OperatorStage.id(number)
                try await must(["deletion", "request", id, "--confirm=\(id)"], stage.variables)
            }
            let request = try await database.psql(
                "select id from accountctl.deletion_requests where user_id = '\(OperatorStage.id(2))'"
            )
            let path = try write(try await stage.run(["deletion", "export"]).output, "list", stage)
            try await backup.restore(to: database)
            try await database.psql(
                "update auth.users set created_at = now() + interval '1 second' where id = '\(OperatorStage.id(3))'"
            )
            let command = ["deletion", "replay", path, "--json"]
            let done = try await stage.run(command + ["--confirm=2"])
            #expect(done.status == 0, "\(done.errors)")
            try expect(["reopen": 2, "others": 1, "open": 0], in: done.output)
            let cancel = try await stage.run(["deletion", "cancel", OperatorStage.id(1)])
            #expect(cancel.status == 0, "\(cancel.errors)")
            let again = try await stage.run(command)
            try expect(["outcome": "unchanged", "open": 1, "decided": 1, "others": 1], in: again.output)
            #expect(try await database.psql("select count(*) from accountctl.deletion_requests") == "2")
            try await backup.restore(to: database)
            // What is open is in every list: in one that a newer list follows without it, it is open no more.
            let (older, newer) = (
                try String(contentsOfFile: path, encoding: .utf8), try await stage.run(["deletion", "export"]).output
            )
            for (text, reopen) in [
                (older + newer, 0), (newer + older, 0), (older + newer.prefix { $0 != "\n" }, 3),
            ] {
                let dry = try await stage.run(["deletion", "replay", "-", "--dry-run", "--json"], input: text)
                try expect(["reopen": reopen], in: dry.output)
            }
            // Where the list is older than the backup, the database knows more.
            try await database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, user_id, origin, state, run_after, legal_deadline, finished_at
                )
                values ('\(request)', '\(OperatorStage.id(2))', 'app', 'cancelled', now(), now() + interval '1 day', now())
                """
            )
            let known = try await stage.run(command + ["--dry-run"])
            try expect(["reopen": 2, "decided": 1], in: known.output)
        }
    }

    @Test(
        "A lost legal hold still stops the request that it stopped; who cancelled and asked again has the later request"
    )
    func heldAndAskedAgain() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let database = stage.database
            let (held, again) = (OperatorStage.id(1), OperatorStage.id(2))
            func run(_ words: [String]) async throws {
                let result = try await stage.run(words)
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            try await run(["deletion", "request", again, "--confirm=\(again)"])
            let backup = try await TableBackup(of: database)
            try await run(["deletion", "request", held, "--confirm=\(held)", "--grace-seconds", "0"])
            try await run(["user", "hold", held, "--reason", "court order"])
            try await run(["deletion", "cancel", again])
            try await run(["deletion", "request", again, "--confirm=\(again)", "--grace-seconds", "777600"])
            let list = try await stage.run(["deletion", "export"]).output
            let path = try write(list, "list", stage)
            try await backup.restore(to: database)
            // A list of the restored database would have it that nobody cancelled.
            let restored = try await stage.run(["deletion", "export"]).output
            for text in [list + restored, restored + list] {
                let late = try await stage.run(["deletion", "replay", "-", "--confirm=3"], input: text)
                #expect(late.status == 2 && late.errors.contains("it was written after the restore"), "\(late)")
            }
            let done = try await stage.run(["deletion", "replay", path, "--json", "--confirm=3"])
            #expect(done.status == 0, "\(done.errors)")
            try expect(["reopen": 2, "cancel": 1], in: done.output)
            #expect(done.errors.contains("1 request that somebody had stopped is paused"), "\(done.errors)")
            let states = """
                select state, paused_at is not null, run_after > now() + interval '8 days'
                from accountctl.deletion_requests
                order by user_id, requested_at
                """
            #expect(try await database.psql(states) == "grace|t|f\ncancelled|f|f\ngrace|f|t")
            try expect(
                ["outcome": "unchanged", "open": 2],
                in: try await stage.run(["deletion", "replay", path, "--json"]).output
            )
        }
    }

    @Test("What cannot be repeated is told: what has begun here, and what was erased and is stopped here")
    func told() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let database = stage.database
            for number in 1...2 {
                let id = OperatorStage.id(number)
                _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            }
            _ = try await stage.run(["deletion", "pause", OperatorStage.id(2)])
            let backup = try await TableBackup(of: database)
            _ = try await stage.run(["deletion", "cancel", OperatorStage.id(1)])
            // As if it had been let go on, and carried out.
            let list = try await stage.run(["deletion", "export"]).output.split(separator: "\n").map { line in
                line.contains(#""state":"grace""#)
                    ? line.replacing(#""state":"grace""#, with: #""state":"verified""#)
                        .replacing(#""finished_at":null"#, with: #""finished_at":"2026-11-20T12:00:00Z""#) : line
            }
            let path = try write(list.joined(separator: "\n"), "list", stage)
            try await backup.restore(to: database)
            try await database.psql(
                """
                with begun as (
                    update accountctl.deletion_requests
                    set state = 'running', locked_out_at = now()
                    where user_id = '\(OperatorStage.id(1))'
                    returning id
                )
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                select id, 'delete_avatars', 1, now()
                from begun
                """
            )
            let result = try await stage.run(["deletion", "replay", path, "--confirm=1", "--json"])
            #expect(result.status == 6, "\(result.errors)")
            #expect(
                result.errors.contains("the step delete_avatars has begun, which cannot be undone"),
                "\(result.errors)"
            )
            #expect(result.errors.contains("1 account that was erased before waits here"), "\(result.errors)")
            try expect(["cancel": 0, "refused": 1, "open": 1, "stuck": 1, "outcome": "refused"], in: result.output)
        }
    }

    @Test("A list with a bad line, of another version or with another hash key is refused before anything is done")
    func refused() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let database = stage.database
            let backup = try await TableBackup(of: database)
            for number in 1...2 {
                let id = OperatorStage.id(number)
                _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            }
            let list = try await stage.run(["deletion", "export"]).output
            try await backup.restore(to: database)
            let before = try await database.psql(requests)
            let lines = list.split(separator: "\n").map(String.init)
            func replay(_ text: String, _ own: [String: String] = [:], _ words: [String] = []) async throws
                -> AccountctlProcess.Result
            {
                try await AccountctlProcess(
                    ["deletion", "replay", "-", "--confirm=2"] + words,
                    environment: stage.variables.merging(own) { $1 },
                    input: text
                ).result()
            }
            let bad = [
                (
                    list.replacingOccurrences(of: #""state":"grace""#, with: #""state":"gone""#),
                    "line 2: the field state"
                ),
                (list.replacingOccurrences(of: #""paused":false"#, with: #""paused":0"#), "line 3: the field paused"),
                (list.replacingOccurrences(of: #""subject":""#, with: #""subject":"x"#), "line 2: the field subject"),
                (
                    list.replacingOccurrences(of: #""run_after":"2"#, with: #""run_after":"z"#),
                    "line 2: the field run_after"
                ),
                (
                    list.replacingOccurrences(of: #""erasures":1"#, with: #""erasures":2"#),
                    "line 1: the field erasures says version 2"
                ),
                (lines[0] + "\nhello\n", "line 2: it is no JSON object"),
                (lines[1] + "\n", "line 1: no line before it begins a list"),
                ("", "standard input holds no list of erasures"),
            ]
            for (text, words) in bad {
                let result = try await replay(text)
                #expect(result.status == 2 && result.errors.contains(words), "\(words): \(result.errors)")
            }
            for (name, status, words) in [
                ("hash", Int32(5), #""hash" is not the hash key that standard input was written with"#),
                ("hash-2", 2, #"the hash key "hash-2", and the list has 2 requests with "hash""#),
            ] {
                let key = try write(try await AccountctlProcess.run("keys", "new", name).output, "other.key", stage)
                // The backup may be from before anything was hashed.
                try await database.psql("delete from accountctl.hash_key_canaries")
                let result = try await replay(list, ["ACCOUNTCTL_KEYS_HASH_FILE": key])
                #expect(result.status == status && result.errors.contains(words), "\(name): \(result.errors)")
            }
            #expect(try await database.psql(requests) == before)
            let cut = try await replay(lines.prefix(2).joined(separator: "\n"), [:], ["--dry-run", "--json"])
            #expect(cut.errors.contains("the list was cut off"), "\(cut.errors)")
            try expect(["reopen": 1, "listed": 1], in: cut.output)
            let mixed = lines.enumerated().map { number, line in
                number == 1 ? line.replacing(#""hash_key":"hash""#, with: #""hash_key":"hash-0""#) : line
            }.joined(separator: "\n")
            let named = try await replay(mixed)
            #expect(
                named.status == 2 && named.errors.contains(#"the list has 1 request with "hash-0""#),
                "\(named.errors)"
            )
            let rest = try await replay(mixed, [:], ["--skip-other-keys", "--dry-run", "--json"])
            try expect(["reopen": 1, "listed": 1], in: rest.output)
            // Of several lists the newest line of a request counts, in whatever order they come.
            let twice = try await replay(list + list)
            #expect(twice.status == 0 && !twice.errors.contains("cut off"), "\(twice.errors)")
        }
    }

    @Test("A worker beside it is asked about, unless everything is paused")
    func besideWorker() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            let backup = try await TableBackup(of: stage.database)
            _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            let path = try write(try await stage.run(["deletion", "export"]).output, "list", stage)
            try await backup.restore(to: stage.database)
            try await stage.database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('here:1', '1', 4, '{deletions}', '{account.delete}', now() + interval '1 hour')
                """
            )
            let command = ["deletion", "replay", path, "--confirm=1"]
            let refused = try await stage.run(command)
            #expect(refused.status == 2 && refused.errors.contains("--yes"), "\(refused.errors)")
            #expect(refused.errors.contains("deletions are not paused and a worker is alive"), "\(refused.errors)")
            #expect(try await stage.run(["deletion", "pause", "--all"]).status == 0)
            let done = try await stage.run(command)
            #expect(done.status == 0, "\(done.errors)")
            #expect(!done.errors.contains("a worker is alive"), "\(done.errors)")
            #expect(done.errors.contains("accountctl deletion resume --all"), "\(done.errors)")
            try await backup.restore(to: stage.database)
            #expect(try await stage.run(["deletion", "resume", "--all", "--confirm=all"]).status == 0)
            #expect(try await stage.run(command + ["--yes"]).status == 0)
        }
    }

    @Test("A hold that is there hides no pause that is lost: it ends sooner")
    func pausedUnderHold() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            try await must(["deletion", "request", id, "--confirm=\(id)"], stage.variables)
            try await must(["user", "hold", id, "--reason", "court order"], stage.variables)
            let backup = try await TableBackup(of: stage.database)
            try await must(["deletion", "pause", id], stage.variables)
            let path = try write(try await stage.run(["deletion", "export"]).output, "list", stage)
            try await backup.restore(to: stage.database)
            let dry = try await stage.run(["deletion", "replay", path, "--dry-run", "--json"])
            try expect(["pause": 1], in: dry.output)
            #expect(dry.errors.contains("legal holds placed since the backup are lost"), "\(dry)")
        }
    }

    @Test("It names accounts as the operators' log does, and leaves out what ended long ago")
    func export() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            for number in 1...2 {
                let id = OperatorStage.id(number)
                _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            }
            _ = try await stage.run(["deletion", "cancel", OperatorStage.id(2)])
            let list = try await stage.run(["deletion", "export"])
            #expect(list.status == 0, "\(list.errors)")
            let logged = try await stage.database.psql(
                "select encode(subject_hash, 'hex') from accountctl.operator_log where action = 'deletion.request'"
            )
            for subject in logged.split(separator: "\n") { #expect(list.output.contains(subject), "\(list.output)") }
            #expect(list.output.hasSuffix("{\"end\":2}\n"), "\(list.output)")
            let printed = try await AccountctlProcess(
                ["deletion", "export", "--output", "-"],
                environment: stage.variables,
                directory: stage.folder
            ).result()
            #expect(printed.status == 0 && printed.output.hasSuffix("{\"end\":2}\n"), "\(printed)")
            #expect(!FileManager.default.fileExists(atPath: stage.path("-")))
            let path = try write("", "unused", stage) + ".ndjson"
            let file = try await stage.run(["deletion", "export", "--output", path])
            #expect(file.status == 0 && file.output.isEmpty, "\(file)")
            let written = try String(contentsOfFile: path, encoding: .utf8)
            #expect(written.split(separator: "\n").dropFirst() == list.output.split(separator: "\n").dropFirst())
            let twice = try await stage.run(["deletion", "export", "--output", path])
            #expect(twice.status == 2 && twice.errors.contains("a name of its own"), "\(twice)")
            try await stage.database.psql(
                """
                update accountctl.deletion_requests
                set finished_at = case when finished_at is not null then now() - interval '50 days' end,
                    requested_at = now() - interval '60 days'
                """
            )
            let recent = try await stage.run(["deletion", "export", "--since", "40d"])
            #expect(recent.output.hasSuffix("{\"end\":1}\n") && recent.output.contains("\"grace\""), "\(recent.output)")
            let denied = try await stage.run(["deletion", "export"], as: "authenticated")
            #expect(denied.status == 4 && denied.output.isEmpty, "\(denied)")
        }
    }
}
