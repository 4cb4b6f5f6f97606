import TestSupport
import Testing

/// Tests of what each act on jobs and queues does and reports.
extension JobsCommandTests {
    @Test("A cancel ends a waiting job, tells a running one to stop, and asks before either")
    func cancel() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await fill(database)
            func id(_ name: String) -> String { "\(ids[name] ?? 0)" }
            // Without a terminal there is nobody to ask, so an act that needs consent is refused without --yes.
            #expect(try await jobs(database, ["cancel", id("available")]).status == 2)
            #expect(try await state(database, ids["available"]) == "available")

            let cancel = try await jobs(
                database,
                ["cancel", id("available"), "424242", id("running"), "--yes", "--json"]
            )
            #expect(cancel.status == 3)
            for part in [
                #""outcome":"done","result":"cancelled""#,
                #""exit_code":3,"id":424242,"outcome":null,"result":"#,
                #""outcome":"done","result":"told to stop""#,
            ] {
                #expect(cancel.output.contains(part), "\(cancel)")
            }
            #expect(try await state(database, ids["available"]) == "cancelled")
            // A second cancel without a reason keeps the reason of the first.
            for reason in [["--reason", "asked for twice"], []] {
                #expect(try await jobs(database, ["cancel", id("running"), "--yes"] + reason).status == 0)
            }
            let running = try await jobs(database, ["show", id("running"), "--json"])
            #expect(running.output.contains("\"cancel_requested\": true"), "\(running)")
            #expect(running.output.contains("\"reason\": \"asked for twice\""), "\(running)")
        }
    }

    @Test("A discarded job is kept with its reason and progress, and a retry keeps the progress")
    func discardAndRetry() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await fill(database)
            func id(_ name: String) -> String { "\(ids[name] ?? 0)" }
            try await database.psql("update accountctl.jobs set progress = '{\"done\": 3}' where id = \(id("parked"))")
            #expect(try await jobs(database, ["discard", id("parked"), "--reason", "not wanted", "--yes"]).status == 0)
            let discarded = try await jobs(database, ["show", id("parked"), "--json"])
            #expect(discarded.output.contains("not wanted"))
            // JSON members, as in other commands, and not a text.
            let said = discarded.output.filter { !$0.isWhitespace }
            #expect(said.contains(#""arguments":{"n":1}"#) && said.contains(#""progress":{"done":3}"#), "\(discarded)")
            #expect(said.contains(#""output":null"#), "\(discarded)")
            #expect(try await jobs(database, ["show", id("parked")]).output.contains(#"{"done": 3}"#))

            let one = try await jobs(database, ["retry", "--state", "discarded", "--limit", "1", "--dry-run"])
            #expect(one.status == 0 && one.errors.contains("more than 1 such jobs: raise --limit"), "\(one)")
            let retried = try await jobs(
                database,
                ["retry", "--state", "discarded", "--queue", "mail", "--yes", "--json"]
            )
            #expect(retried.status == 0 && !retried.errors.contains("such jobs"), "\(retried)")
            #expect(try await state(database, ids["parked"]) == "available")
            let again = try await jobs(database, ["show", id("parked"), "--json"]).output.filter { !$0.isWhitespace }
            #expect(again.contains(#""progress":{"done":3}"#), "\(again)")
            #expect(try await state(database, ids["discarded"]) == "available")
            #expect(try await jobs(database, ["retry", id("completed")]).status == 6)
        }
    }

    @Test("A job can be named by its unique key, unless no job has it or several ended jobs had it")
    func uniqueKeys() async throws {
        try await TestDatabase.with(.migrated) { database in
            func add() async throws -> String {
                try await database.psql("select accountctl.enqueue_job('test.kind', unique_key => 'test.kind:7')")
            }
            let key = ["--unique-key", "test.kind:7"]
            func expect(_ words: [String], _ status: Int32, _ told: String) async throws {
                let result = try await jobs(database, words + key)
                #expect(result.status == status, "\(words): \(result)")
                #expect((result.output + result.errors).contains(told), "\(words): \(result)")
            }
            let asks = [
                ["cancel", "--yes"], ["discard", "--reason", "x", "--yes"], ["snooze", "--for", "1h"], ["retry"],
                ["show"],
            ]
            for words in asks { try await expect(words, 3, "job has the unique key") }

            let first = try await add()
            try await expect(["snooze", "--for", "1h", "--json"], 0, #""id":\#(first),"outcome":"done""#)
            try await expect(["show", "--json", "id,state"], 0, "scheduled")
            try await expect(["cancel", "--yes", "--json"], 0, #""id":\#(first),"outcome":"done""#)
            try await expect(["cancel", "--yes"], 3, "no unfinished job has the unique key")
            try await expect(["show", "--json", "id,state"], 0, "cancelled")
            try await expect(["retry", "--json"], 0, #""id":\#(first),"outcome":"done""#)
            #expect(try await state(database, Int(first)) == "available")

            try await expect(["discard", "--reason", "x", "--yes"], 0, "discarded")
            let second = try await add()
            // The key means the unfinished job, even if an ended job had it before.
            try await expect(["retry", "--dry-run", "--json"], 0, #""id":\#(second),"#)
            try await expect(["discard", "--reason", "x", "--yes"], 0, "discarded")
            for words in [["retry"], ["show"]] {
                try await expect(words, 2, "name one by its id; the last are \(second), \(first)")
            }
            #expect(try await database.psql("select count(*) from accountctl.jobs") == "0")
        }
    }

    @Test("A snoozed job waits for the given time")
    func snooze() async throws {
        try await TestDatabase.with(.migrated) { database in
            let id = try await fill(database)["available"] ?? 0
            #expect(try await jobs(database, ["snooze", "\(id)", "--for", "2h"]).status == 0)
            let wait =
                "select state || ' ' || round(extract(epoch from run_at - now()) / 3600) from accountctl.jobs where id = "
            #expect(try await database.psql(wait + "\(id)") == "scheduled 2")
        }
    }

    @Test("A job is added as described, once for a unique key, and only for an unambiguous time")
    func enqueue() async throws {
        try await TestDatabase.with(.migrated) { database in
            let added = try await jobs(
                database,
                [
                    "enqueue", "test.new", "--arguments", "{\"a\":1}", "--unique-key", "u", "--priority", "2", "--in",
                    "1h", "--json",
                ]
            )
            #expect(added.output.contains("\"is_new\":true"), "\(added.errors)")
            let again = try await jobs(database, ["enqueue", "test.new", "--unique-key", "u", "--json"])
            #expect(again.output.contains("\"is_new\":false"))
            #expect(
                try await database.psql(
                    "select state, priority, args->>'a' from accountctl.jobs where unique_key = 'u'"
                )
                    == "scheduled|2|1"
            )

            let dated = try await jobs(database, ["enqueue", "test.at", "--at", "2099-01-02T03:04:05+01:00"])
            #expect(dated.status == 0, "\(dated)")
            let due = "select state, extract(epoch from run_at)::bigint from accountctl.jobs where kind = 'test.at'"
            #expect(try await database.psql(due) == "scheduled|4071002645")
            for time in [["--at", "12:00"], ["--at", "10m"], ["--at", "2099-01-02", "--in", "1h"]] {
                #expect(try await jobs(database, ["enqueue", "test.at"] + time).status == 2, "\(time)")
            }
        }
    }

    @Test("A queue is paused with a reason until it is resumed")
    func pauseAndResume() async throws {
        try await TestDatabase.with(.migrated) { database in
            _ = try await fill(database)
            // Another reason replaces the present one; the same reason or none leaves it.
            let reasons = [
                (["--reason", "incident 6"], "done"), (["--reason", "incident 7"], "done"),
                (["--reason", "incident 7"], "unchanged"), ([], "unchanged"),
            ]
            for (reason, outcome) in reasons {
                let paused = try await jobs(database, ["pause", "mail", "--yes", "--json"] + reason)
                #expect(paused.status == 0 && paused.output.contains(#""\#(outcome)""#), "\(paused)")
            }
            // A warning says what a pause of the queue does not stop, or what may be lost by it.
            let cautions: [String: String?] = [
                "deletions": "accountctl deletion pause --all",
                "apple": "cannot be revoked at Apple until they sign in with Apple again", "mail": nil,
            ]
            for (queue, caution) in cautions {
                let told = try await jobs(database, ["pause", queue, "--yes", "--dry-run"]).errors
                #expect(told.contains("warning: ") == (caution != nil), "\(queue): \(told)")
                if let caution { #expect(told.contains(caution), "\(queue): \(told)") }
            }
            #expect(try await jobs(database, ["stats", "--json"]).output.contains("incident 7"))
            #expect(try await jobs(database, ["resume", "mail"]).errors.contains("is resumed"))
            #expect(try await jobs(database, ["resume", "mail"]).errors.contains("was not paused"))
            #expect(try await jobs(database, ["stats"]).output.contains("incident 7") == false)
        }
    }

    @Test("Limits of queues and kinds are set, shown and lifted, and each change is logged once")
    func limit() async throws {
        try await TestDatabase.with(.migrated) { database in
            #expect(try await jobs(database, ["limit", "mail", "--count", "5", "--per", "30s"]).status == 0)
            #expect(
                try await jobs(database, ["limit", "--kind", "test.kind", "--running", "2", "--per-key", "1"]).status
                    == 0
            )
            let stats = try await jobs(database, ["stats", "--json"]).output
            for part in [
                "\"rate\": 5", "\"rate_period_seconds\": 30", "\"is_set_by_hand\": true", "\"running\": 2",
            ] {
                #expect(stats.contains(part), "\(part): \(stats)")
            }
            let logged = "select count(*) from accountctl.operator_log where action = 'jobs.limit'"
            let before = Int(try await database.psql(logged)) ?? 0
            let runs: [(dry: [String], outcome: String)] = [
                (["--dry-run"], "would_be_done"), ([], "done"), (["--dry-run"], "unchanged"), ([], "unchanged"),
            ]
            for limited in [["mail"], ["--kind", "test.kind"]] {
                let lift = ["limit"] + limited + ["--none", "--json", "outcome"]
                for (dry, outcome) in runs {
                    let lifted = try await jobs(database, lift + dry)
                    #expect(lifted.status == 0 && lifted.output.contains("\"\(outcome)\""), "\(lift): \(lifted)")
                }
            }
            let never = try await jobs(database, ["limit", "never", "--none"])
            #expect(never.status == 0 && never.errors.contains("never has no limit, as before"), "\(never)")
            #expect(try await database.psql(logged) == "\(before + 2)")
        }
    }

    @Test("A prune drops the days that it named, once their number was confirmed")
    func prune() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql("select accountctl.prepare_job_history('2020-01-01', 2)")
            let would = try await jobs(database, ["prune", "--older-than", "30d", "--dry-run", "--json"])
            #expect(would.output.contains("job_history_20200102"))
            #expect(try await jobs(database, ["prune", "--older-than", "30d"]).status == 2)
            let left = "select count(*) from pg_class where relname like 'job\\_history\\_2020%' and relkind = 'r'"
            let days = try await database.psql(left)
            #expect(try await jobs(database, ["prune", "--older-than", "30d", "--yes"]).status == 2)
            let confirmed = ["prune", "--older-than", "30d", "--confirm=\(days)"]
            let production = database.variables.merging(["ACCOUNTCTL_PRODUCTION": "yes"]) { $1 }
            let unsaid = try await AccountctlProcess(["jobs"] + confirmed, environment: production).result()
            #expect(unsaid.status == 2 && unsaid.errors.contains("--production"), "\(unsaid)")
            #expect(try await database.psql(left) == days)
            let dropped = try await jobs(database, confirmed + ["--json"])
            #expect(dropped.output == would.output)
            #expect(try await database.psql(left) == "0")
        }
    }
}
