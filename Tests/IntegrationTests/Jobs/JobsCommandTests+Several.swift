import Postgres
import TestSupport
import Testing

/// Tests of acts on several jobs at once, and of their dry runs.
extension JobsCommandTests {
    @Test("A dry run reports what would happen, even for ids that do not exist, and changes nothing")
    func dryRuns() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await fill(database)
            let before = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            func run(_ verb: [String], _ name: String, _ status: Int32, _ told: String) async throws {
                let words = [verb[0], "\(ids[name] ?? 424_242)"] + verb.dropFirst() + ["--dry-run"]
                let result = try await jobs(database, words)
                #expect(result.status == status, "\(verb) \(name): \(result.errors)")
                #expect(result.output.contains(told), "\(verb) \(name): \(result.output)")
            }
            try await run(["cancel"], "available", 0, "would be cancelled")
            try await run(["cancel"], "running", 0, "would be told to stop")
            try await run(["cancel"], "completed", 6, "had ended already")
            try await run(["cancel"], "nobody", 3, "there is no job")
            try await run(["discard", "--reason", "x"], "scheduled", 0, "would be discarded")
            try await run(["discard", "--reason", "x"], "running", 6, "it is running")
            try await run(["discard", "--reason", "x"], "nobody", 3, "there is no job")
            try await run(["retry"], "discarded", 0, "would run again")
            try await run(["retry"], "completed", 6, "has completed")
            try await run(["retry"], "nobody", 3, "there is no job")
            try await run(["snooze", "--for", "1h"], "available", 0, "would be postponed")
            try await run(["snooze", "--for", "1h"], "parked", 6, "it is parked")
            for words in [
                ["pause", "mail"], ["resume", "mail"], ["limit", "mail", "--count", "5"],
                ["limit", "--kind", "k", "--running", "5"], ["enqueue", "k", "--unique-key", "u"],
            ] {
                #expect(try await jobs(database, words + ["--dry-run"]).status == 0, "\(words)")
            }
            let many = try await jobs(database, ["retry", "--state", "parked", "--dry-run", "--json"])
            #expect(many.output.contains("would run again"))
            // No id is printed, since the job that had one was not kept.
            let enqueued = try await jobs(database, ["enqueue", "k", "--dry-run", "--csv"])
            #expect(enqueued.output == "id,is_new\n,true\n" && enqueued.errors.contains("would be added"))
            let after = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            #expect(after == before)
            #expect(try await database.psql("select count(*) from accountctl.queues") == "0")
            #expect(try await database.psql("select count(*) from accountctl.job_limits") == "0")
        }
    }

    @Test("A job that has already ended this way is unchanged, and not logged; one that ended otherwise is refused")
    func endedAlready() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await fill(database)
            func id(_ name: String) -> String { "\(ids[name] ?? 0)" }
            func run(_ words: [String], _ status: Int32, _ outcome: String) async throws {
                let result = try await jobs(database, words + ["--json", "outcome,exit_code"])
                #expect(result.status == status, "\(words): \(result)")
                #expect(result.output.contains(#""outcome":"\#(outcome)""#), "\(words): \(result)")
            }
            let discard = ["discard", id("discarded"), "--reason", "x"]
            let cancel = ["cancel", id("available")]
            try await run(cancel + ["--yes"], 0, "done")
            let log = "select count(*) from accountctl.operator_log"
            let before = try await database.psql(log)
            for consent in ["--yes", "--dry-run"] {
                try await run(cancel + [consent], 0, "unchanged")
                try await run(discard + [consent], 0, "unchanged")
                try await run(["cancel", id("discarded"), consent], 6, "refused")
                try await run(["discard", id("available"), "--reason", "x", consent], 6, "refused")
                try await run(["cancel", id("completed"), consent], 6, "refused")
            }
            #expect(try await database.psql(log) == before)
        }
    }

    @Test("A repeated option selects all of its values")
    func repeatedOptions() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await fill(database)
            try await database.psql("select accountctl.enqueue_job('other.kind', queue => 'apple')")
            func list(_ words: [String], _ field: String = "state") async throws -> String {
                let result = try await jobs(database, ["list"] + words + ["--tsv", field])
                #expect(result.status == 0, "\(words): \(result.errors)")
                return result.output
            }
            let states = ["--state", "discarded", "--state", "parked", "--state", "completed", "--state", "running"]
            let ended = try await list(states).split(separator: "\n").map(String.init)
            #expect(ended.prefix(2) == ["running", "parked"] && Set(ended.dropFirst(2)) == ["discarded", "completed"])
            #expect(try await list(states + ["--limit", "3"]).split(separator: "\n").count == 3)
            let kinds = ["--kind", "other.kind", "--kind", "test.kind", "--state", "available"]
            #expect(try await list(kinds, "kind") == "test.kind\nother.kind\n")
            let queues = ["--queue", "apple", "--queue", "mail", "--queue", "none", "--state", "available"]
            #expect(try await list(queues, "queue") == "mail\napple\n")
            let words = ["retry", "--state", "parked", "--state", "discarded", "--yes", "--json", "id,outcome"]
            let retried = try await jobs(database, words)
            #expect(retried.status == 0, "\(retried.errors)")
            for name in ["parked", "discarded"] {
                #expect(try await state(database, ids[name]) == "available", "\(name): \(retried.output)")
            }
            let mixed = try await jobs(database, ["retry", "--state", "parked", "--state", "running"])
            #expect(mixed.status == 2 && mixed.errors.contains("--state running"), "\(mixed.errors)")
        }
    }

    @Test("A locked job does not keep others from being cancelled, and a lost connection keeps the results so far")
    func oneOfSeveral() async throws {
        for isCutOff in [false, true] {
            try await TestDatabase.with(.migrated) { database in
                let ids = try await fill(database)
                let several = ["available", "running", "scheduled"].map { ids[$0] ?? 0 }
                var variables = database.variables
                // A command that is to be cut off waits for the lock until then, however long that takes.
                variables["ACCOUNTCTL_DATABASE_STATEMENT_TIMEOUT"] = isCutOff ? "60s" : "3s"
                let environment = variables
                try await database.withConnection { handler in
                    try await handler.transaction { handler in
                        // Locks the job as the fence of a handler's transaction does.
                        _ = try handler.one(
                            "select id from accountctl.jobs where id = \(several[1]) for share",
                            as: Int64.self
                        )
                        let command = try AccountctlProcess(
                            ["jobs", "cancel"] + several.map { "\($0)" } + ["--yes", "--json"],
                            environment: environment
                        )
                        if isCutOff {
                            try await handler.waitUntilSomebodyIsBlocked()
                            try handler.execute(
                                """
                                select pg_terminate_backend(pid)
                                from pg_stat_activity
                                where pg_backend_pid() = any(pg_blocking_pids(pid))
                                """
                            )
                        }
                        let result = try await command.result()
                        #expect(result.status == 75)
                        #expect(result.output.contains(#""id":\#(several[0]),"outcome":"done""#), "\(result)")
                        #expect(result.output.contains("\"id\":\(several[1])") == !isCutOff, "\(result)")
                        #expect(result.output.contains("\"id\":\(several[2])") == !isCutOff, "\(result)")
                    }
                }
                #expect(try await state(database, several[0]) == "cancelled")
                #expect(try await state(database, several[1]) == "running")
                #expect(try await state(database, several[2]) == (isCutOff ? "scheduled" : "cancelled"))
            }
        }
    }

    @Test("A prune drops no more days than were confirmed, even if days were added while the question waited")
    func pruneAsConfirmed() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql("select accountctl.prepare_job_history('2020-01-01', 1)")
            let words = ["jobs", "prune", "--older-than", "30d"]
            let result = try await TerminalSession.live(words, environment: database.variables) { person in
                #expect(try await person.waits(for: "Drop 1 day"), "\(person.screen)")
                try await database.psql("select accountctl.prepare_job_history('2020-01-02', 1)")
                try person.type("1\n")
            }
            #expect(result.status == 0, "\(result.screen)")
            let left = "select relname from pg_class where relname like 'job\\_history\\_2020%' and relkind = 'r'"
            #expect(try await database.psql(left) == "job_history_20200102", "\(result.screen)")
        }
    }

    @Test("A prune that finds a day in use names the days that it has already dropped")
    func pruneInUse() async throws {
        try await TestDatabase.with(.migrated) { database in
            // More days than are dropped at once.
            try await database.psql("select accountctl.prepare_job_history('2020-01-01', 33)")
            try await database.withConnection { reader in
                try await reader.transaction { reader in
                    _ = try reader.one("select count(*) from accountctl.job_history_20200202", as: Int.self)
                    let words = ["prune", "--older-than", "30d", "--confirm=33", "--json"]
                    let result = try await jobs(database, words)
                    #expect(result.status == 75 && result.errors.contains("error:"), "\(result)")
                    #expect(result.output.contains("job_history_20200101"), "\(result)")
                    #expect(!result.output.contains("job_history_20200202"), "\(result)")
                }
            }
            let left = "select count(*) from pg_class where relname like 'job\\_history\\_2020%' and relkind = 'r'"
            #expect(try await database.psql(left) == "3")
        }
    }
}
