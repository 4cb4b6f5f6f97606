import Foundation
import TestSupport
import Testing

/// The numbers of receipts after a restore, which sets their sequence back.
@Suite("Numbers of receipts", .timeLimit(.minutes(5)))
struct ReceiptNumberTests {
    @Test("After a replay no receipt gets a number that the list names, even if nothing is left to repeat")
    func afterARestore() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let database = site.database
            func must(_ words: [String]) async throws -> AccountctlProcess.Result {
                let result = try await AccountctlProcess(words, environment: site.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
                return result
            }
            func setLast(_ number: Int) async throws {
                try await database.psql("select setval('accountctl.deletion_receipts_number_seq', \(number))")
            }
            let last = "select last_value from accountctl.deletion_receipts_number_seq"
            let account = try await database.psql("select id from auth.users where email = 'stays1@example.com'")
            let backup = try await TableBackup(of: database)
            try await setLast(139)
            _ = try await must(["deletion", "rehearse", account, "--confirm=\(account)", "--no-input"])
            let number = "select number from accountctl.deletion_receipts"
            #expect(try await database.psql(number) == "140")
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await must(["deletion", "export"]).output.write(toFile: path, atomically: true, encoding: .utf8)
            try await backup.restore(to: database)
            try await setLast(100)

            let replay = ["deletion", "replay", path]
            // The dry run reports what the replay then does.
            let skips: [String: Any] = ["skip_from": 101, "skip_to": 140]
            try PrintedFacts.expect(
                skips.merging(["outcome": "would_be_done"]) { $1 },
                in: try await must(replay + ["--dry-run", "--json"]).output
            )
            let text = try await must(replay + ["--dry-run"]).output
            #expect(text.contains(/Receipt numbers skipped from +101\n/), "\(text)")
            #expect(text.contains(/Receipt numbers skipped to +140\n/), "\(text)")
            #expect(try await database.psql(last) == "100")
            let done = try await must(replay + ["--confirm=1", "--json"])
            #expect(done.errors.contains("above 140"))
            try PrintedFacts.expect(skips.merging(["outcome": "done", "erase": 1]) { $1 }, in: done.output)
            _ = try await must(["worker", "--until-idle"])
            #expect(try await database.psql(number) == "141")
            // The sequence is never set back, and is moved again even if nothing is left to repeat.
            try await setLast(200)
            let both: [[String]] = [["--dry-run"], []]
            for words in both {
                let output = try await must(replay + words + ["--json"]).output
                try PrintedFacts.expect(["outcome": "unchanged"], in: output)
                for fact in ["skip_from", "skip_to", "confirm"] {
                    #expect(output.contains("\"\(fact)\": null"), "\(output)")
                }
                #expect(try await database.psql(last) == "200")
            }
            try await setLast(100)
            let cases: [(words: [String], outcome: String, after: String)] = [
                (["--dry-run"], "would_be_done", "100"), ([], "done", "140"),
            ]
            for (words, outcome, after) in cases {
                let output = try await must(replay + words + ["--json"]).output
                try PrintedFacts.expect(skips.merging(["outcome": outcome]) { $1 }, in: output)
                // The list is this database's own, so no confirmation is asked for.
                #expect(output.contains(#""confirm": null"#), "\(output)")
                #expect(try await database.psql(last) == after)
            }
        }
    }

    @Test("A list that another database wrote moves the numbers of receipts only after confirmation")
    func ofAnotherDatabase() async throws {
        try await OperatorStage.with { stage in
            let database = stage.database
            let identity = try await database.psql(
                """
                select (select system_identifier from pg_control_system()) || '.' || oid
                from pg_database
                where datname = current_database()
                """
            )
            let last = "select last_value, is_called from accountctl.deletion_receipts_number_seq"
            // Its account signed up and was erased after the dump, so there is nothing to repeat.
            let lines = try await stage.run(["deletion", "export"]).output.split(separator: "\n").map(String.init)
            let erased = """
                {"request": "00000000-0000-4000-8000-000000000099", "state": "verified",
                 "subject": "\(String(repeating: "ab", count: 32))", "hash_key": "hash",
                 "requested_at": "2026-11-20T12:00:00Z", "run_after": "2026-11-20T12:00:00Z",
                 "finished_at": "2026-11-20T13:00:00Z", "legal_deadline": "2026-12-20T12:00:00Z",
                 "receipt": 140, "paused": false, "held": false}
                """.replacing("\n", with: "")
            let own = try #require(lines.first)
            let list = [own, erased, #"{"end": 1}"#].joined(separator: "\n") + "\n"
            let other = list.replacing(identity, with: "7000000000000000000.5")
            #expect(own.contains(identity))
            func replay(_ text: String, _ words: [String]) async throws -> AccountctlProcess.Result {
                try await stage.run(["deletion", "replay", "-", "--unsealed", "--json"] + words, input: text)
            }
            let skips: [String: Any] = ["skip_from": 1, "skip_to": 140]

            let dry = try await replay(other, ["--dry-run"])
            try PrintedFacts.expect(
                skips.merging(["outcome": "would_be_done", "confirm": "--confirm=140"]) { $1 },
                in: dry.output
            )
            let asked = try await replay(other, [])
            #expect(asked.status == 2 && asked.errors.contains("--confirm=140"), "\(asked.errors)")
            #expect(try await database.psql(last) == "1|f")
            let done = try await replay(other, ["--confirm=140"])
            #expect(done.status == 0, "\(done.errors)")
            try PrintedFacts.expect(skips.merging(["outcome": "done", "erase": 0]) { $1 }, in: done.output)
            #expect(try await database.psql(last) == "140|t")
            // Nothing is left to confirm.
            let again = try await replay(other, [])
            #expect(again.status == 0, "\(again.errors)")
            try PrintedFacts.expect(["outcome": "unchanged"], in: again.output)
            #expect(again.output.contains(#""skip_from": null"#), "\(again.output)")
        }
    }
}
