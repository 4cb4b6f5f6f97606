import Foundation
import TestSupport
import Testing

@Suite("The list of erasures", .timeLimit(.minutes(5)))
struct ErasureListTests {
    private let requests = """
        select coalesce(string_agg(r::text, ',' order by r.id), '-')
            || (select count(*) from accountctl.operator_log)
        from accountctl.deletion_requests as r
        """

    @Test(
        "A replay after a restore repeats the erasures, requests, cancellations and pauses since, and touches no one else"
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
                try await AccountctlProcess.must(["deletion", "request", user, "--confirm=\(user)"], site.variables)
            }
            // The list's pause is a later one than this, which was ended.
            for act in ["pause", "resume"] {
                try await AccountctlProcess.must(["deletion", act, paused], site.variables)
            }
            let backup = try await TableBackup(of: database)
            try await AccountctlProcess.must(
                ["deletion", "rehearse", erased, "--confirm=\(erased)", "--no-input"],
                site.variables
            )
            try await AccountctlProcess.must(
                ["deletion", "request", lost, "--confirm=\(lost)", "--grace", "864000s"],
                site.variables
            )
            try await AccountctlProcess.must(["deletion", "cancel", cancelled], site.variables)
            try await AccountctlProcess.must(["deletion", "pause", paused], site.variables)
            let times = """
                select date_trunc('second', t.requested), date_trunc('second', t.due), date_trunc('second', t.deadline)
                from accountctl.deletion_requests as r
                -- The list rounds times to milliseconds.
                cross join lateral (
                    select r.requested_at + '0.5 ms', r.run_after + '0.5 ms', r.legal_deadline + '0.5 ms'
                ) as t (requested, due, deadline)
                where user_id = '\(lost)'
                """
            let before = try await database.psql(times)
            let list = try await AccountctlProcess.must(["deletion", "export"], site.variables)
            #expect(list.split(separator: "\n").count == 6)
            for text in [erased, lost, cancelled, paused, "@"] { #expect(!list.contains(text), "\(list)") }
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try list.write(toFile: path, atomically: true, encoding: .utf8)
            let command = ["deletion", "replay", path]

            // Before the restore there is nothing to repeat.
            try PrintedFacts.expect(
                ["outcome": "unchanged"],
                in: try await AccountctlProcess.must(command + ["--json"], site.variables)
            )
            try await backup.restore(to: database)
            let restored = try await database.psql(requests)
            let dry = try await AccountctlProcess.must(command + ["--dry-run", "--json"], site.variables)
            try PrintedFacts.expect(
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

            let done = try await AccountctlProcess.must(
                command + ["--confirm=4", "--ticket", "T-9", "--reason", "disk died", "--json"],
                site.variables
            )
            try PrintedFacts.expect(["outcome": "done", "erase": 1, "reopen": 1, "cancel": 1, "pause": 1], in: done)
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
                let again = try await AccountctlProcess.must(command + ["--json", "--confirm=4"], site.variables)
                try PrintedFacts.expect(
                    ["outcome": "unchanged", "erase": 0, "reopen": 0, "cancel": 0, "pause": 0],
                    in: again
                )
                try await AccountctlProcess.must(["worker", "--until-idle"], site.variables)
            }
            // A pause that an operator has ended since the replay is not repeated.
            try await AccountctlProcess.must(["deletion", "resume", paused], site.variables)
            try PrintedFacts.expect(
                ["outcome": "unchanged", "open": 2],
                in: try await AccountctlProcess.must(command + ["--json"], site.variables)
            )
            let ended = try await AccountctlProcess(["user", "find", erased], environment: site.variables).result()
            #expect(ended.errors.contains("was erased on"), "\(ended)")
            #expect(try await database.psql("select count(*) from auth.users") == "4")
        }
    }

    @Test("A list with a bad line, of another version or with another hash key is refused before anything is done")
    func refused() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            let backup = try await TableBackup(of: database)
            for number in 1...2 { try await stage.request(OperatorStage.id(number)) }
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
                (lines[0] + "\nhello\n", "line 2: it is not a JSON object"),
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
                let key = try stage.write(try await AccountctlProcess.run("keys", "new", name).output, to: "other.key")
                // The backup may be from before anything was hashed.
                try await database.psql("delete from accountctl.hash_key_canaries")
                let result = try await replay(list, ["ACCOUNTCTL_KEYS_HASH_FILE": key])
                #expect(result.status == status && result.errors.contains(words), "\(name): \(result.errors)")
            }
            #expect(try await database.psql(requests) == before)
            let head = lines.prefix(2).joined(separator: "\n")
            // A list that was cut off, and one of an older release, without a seal, that lost a line in the middle.
            for rest in [head, head + "\n" + #"{"end":2}"#] {
                let cut = try await replay(rest, [:], ["--unsealed", "--dry-run", "--json"])
                #expect(cut.errors.contains("fewer or more lines than were written"), "\(cut.errors)")
                try PrintedFacts.expect(["reopen": 1, "listed": 1], in: cut.output)
            }
            // Lists of older releases have no seal.
            let mixed = (lines.dropLast() + [#"{"end":2}"#]).enumerated().map { number, line in
                number == 1 ? line.replacing(#""hash_key":"hash""#, with: #""hash_key":"hash-0""#) : line
            }.joined(separator: "\n")
            let named = try await replay(mixed)
            #expect(
                named.status == 2 && named.errors.contains(#"the list has 1 request with "hash-0""#),
                "\(named.errors)"
            )
            let rest = try await replay(mixed, [:], ["--skip-other-keys", "--unsealed", "--dry-run", "--json"])
            try PrintedFacts.expect(["reopen": 1, "listed": 1], in: rest.output)
            // Of several lists the newest line of each request counts, in whatever order the lists come.
            let twice = try await replay(list + list)
            #expect(twice.status == 0 && !twice.errors.contains("fewer or more"), "\(twice.errors)")
        }
    }
}
