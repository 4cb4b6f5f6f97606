import AccountLifecycle
import Foundation
import Postgres
import TestSupport
import Testing

@Suite("The jobs commands", .timeLimit(.minutes(5)))
struct JobsCommandTests {
    func jobs(_ database: TestDatabase, _ words: [String]) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(["jobs"] + words, environment: database.variables).result()
    }

    /// One unfinished job per state, and ended ones: their ids by name.
    func fill(_ database: TestDatabase) async throws -> [String: Int] {
        let text = try await database.psql(
            """
            with made as (
                select state, accountctl.enqueue_job('test.kind', queue => 'mail', args => '{"n":1}') as id
                from unnest(array['available','running','parked','discarded','completed']) as state
            )
            select string_agg(state || '=' || id, ',') || ',scheduled='
                || accountctl.enqueue_job('test.kind', queue => 'mail', run_at => now() + interval '1 day')
            from made
            """
        )
        let pairs = text.split(separator: ",").map { $0.split(separator: "=") }
        let ids = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? 0) })
        try await database.psql(
            """
            update accountctl.jobs set state = 'running', worker = 1, lease = 1, attempt = 1 where id = \(ids["running"] ?? 0);
            update accountctl.jobs
            set state = 'parked', parked_for = 'undecodable',
                errors = '[{"at":"2026-01-02T03:04:05Z","attempt":1,"error":"text is missing"}]'
            where id = \(ids["parked"] ?? 0);
            with gone as (
                delete from accountctl.jobs where id in (\(ids["discarded"] ?? 0), \(ids["completed"] ?? 0)) returning *
            )
            insert into accountctl.job_history (
                id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, reason
            )
            select id, lease, run_at, created_at,
                case id when \(ids["completed"] ?? 0) then 'completed' else 'discarded' end::accountctl.job_end,
                priority, attempt, crashes, args_version, queue, kind, args, 'for the test'
            from gone
            """
        )
        return ids
    }

    func state(_ database: TestDatabase, _ id: Int?) async throws -> String {
        try await database.psql(
            """
            select state::text from accountctl.jobs where id = \(id ?? 0)
            union all
            select outcome::text from accountctl.job_history where id = \(id ?? 0)
            """
        )
    }

    @Test("Bad input is refused with 2, named, and changes nothing")
    func badInput() async throws {
        try await TestDatabase.with(.migrated) { database in
            let id = try await fill(database)["available"] ?? 0
            let before = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            let long = String(repeating: "ü", count: 501)
            let cases: [([String], String)] = [
                (["list", "--queue", "No Queue"], "error: --queue must"),
                (["list", "--kind=1kind"], "error: --kind must"),
                (["list", "--state", "sleeping"], "invalid for '--state"),
                (["list", "--unique-key", ""], "error: --unique-key must"),
                (["list", "--limit", "0"], "error: --limit must"),
                (["list", "--limit=-3"], "error: --limit must"),
                (["list", "--json", "id,stat"], "Did you mean state?"),
                (["show", "forty-two"], "id"), (["show", "--", "99999999999999999999"], "id"), (["show"], "id"),
                (["retry"], "name ids, or --state"), (["retry", "--state", "gone"], "invalid for '--state"),
                (["retry", "\(id)", "--state", "parked"], "not both"),
                (["retry", "\(id)", "--queue", "q"], "not both"),
                (["retry", "\(id)", "--exhausted"], "not both"), (["retry", "\(id)", "--kind", "k"], "not both"),
                (["retry", "\(id)", "--limit", "1"], "not both"),
                (["retry", "\(id)", "--unique-key", "k"], "not both"),
                (["cancel"], "ids"), (["discard", "\(id)"], "--reason"),
                (["discard", "\(id)", "--yes", "--reason", long], "--reason has 501 characters: at most 500"),
                (["cancel", "\(id)", "--yes", "--reason", long], "--reason has 501 characters"),
                (["pause", "mail", "--yes", "--reason", long], "--reason has 501 characters"),
                (["discard", "\(id)", "--yes", "--reason", " "], "--reason is empty"),
                (["pause", "Bad Queue", "--yes"], "error: queue must"),
                (["pause", "A", "--dry-run"], "error: queue must"),
                (["pause", "--yes", "--", "--queue"], "error: queue must"), (["resume", ""], "error: queue must"),
                (["pause"], "queue"),
                (["limit", "mail"], "--count"), (["limit", "mail", "--count=-1"], "error: --count must"),
                (["limit", "mail", "--count", "0", "--dry-run"], "--count must lie between 1 and"),
                (["limit", "mail", "--count", "5", "--seconds=-60"], "--seconds must lie between 1 and 86400"),
                (["limit", "mail", "--count", "5", "--none"], "--none"), (["limit", "--none"], "--kind"),
                (["limit", "mail", "--kind", "k", "--none"], "--kind"),
                (["limit", "mail", "--running", "2"], "--running"), (["limit", "--kind", "k"], "--running"),
                (["limit", "--kind", "k", "--running", "0"], "error: --running must"),
                (["limit", "--kind", "k", "--per-key=-2"], "error: --per-key must"),
                (["limit", "--kind", "K", "--running", "2"], "error: --kind must"),
                (["limit", "Mail", "--count", "2"], "error: queue must"),
                (["prune", "--older-than-days=-1"], "--older-than-days"), (["prune"], "--older-than-days"),
                (["snooze", "\(id)", "--for", "soon"], "--for"), (["snooze", "\(id)", "--for=-5m"], "--for"),
                (["snooze", "\(id)", "--for", "9000d"], "error: --for must lie between 0s and 3650d"),
                (["snooze", "\(id)"], "--for"),
                (["enqueue", "Kind"], "error: kind must"), (["enqueue", "k", "--queue", "a b"], "error: --queue must"),
                (["enqueue", "k", "--arguments", "not json"], "error: --arguments must"),
                (["enqueue", "k", "--arguments", "[1]"], "error: --arguments must"),
                (["enqueue", "k", "--arguments", "{\"a\":\"\\u0000\"}"], "arguments"),
                (
                    ["enqueue", "k", "--arguments", "{\"a\":\"\(String(repeating: "x", count: 100_000))\"}{"],
                    "arguments"
                ),
                (["enqueue", "k", "--arguments-version", "0"], "error: --arguments-version must"),
                (["enqueue", "mail.check", "--arguments-version", "2"], "--arguments-version must not exceed 1"),
                (["enqueue", "k", "--priority", "10"], "error: --priority must"),
                (["enqueue", "k", "--priority=-1"], "error: --priority must"),
                (["enqueue", "k", "--in", "9000d"], "error: --in must lie"),
                (["enqueue", "k", "--unique-key", ""], "error: --unique-key must"),
                (["enqueue", "k", "--limit-key", ""], "error: --limit-key must"),
                (["enqueue", "k", "--max-attempts", "0"], "error: --max-attempts must"),
                (["watch", "--queue", "Bad Queue"], "error: --queue must"),
                (["wach"], "Did you mean: accountctl jobs watch"),
            ]
            for (words, hint) in cases {
                let result = try await jobs(database, words)
                #expect(result.status == 2, "\(words.joined(separator: " ").prefix(80)): \(result.errors)")
                #expect(result.output.isEmpty, "\(words.joined(separator: " ").prefix(80))")
                #expect(result.errors.contains(hint), "\(words.joined(separator: " ").prefix(80)): \(result.errors)")
            }
            let after = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            #expect(after == before)
            #expect(try await database.psql("select count(*) from accountctl.queues") == "0")
            #expect(try await database.psql("select count(*) from accountctl.job_limits") == "0")
        }
    }

    @Test("What is looked at: list, show, stats, workers, with their exit codes and JSON")
    func looks() async throws {
        try await TestDatabase.with(.migrated) { database in
            // Somebody who works on one job by hand takes no other.
            try await database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('rehearsal', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            #expect(try await jobs(database, ["workers"]).status == 5)
            #expect(try await jobs(database, ["list"]).errors.contains("no jobs"))
            let ids = try await fill(database)
            let most = try await jobs(database, ["list", "--limit", "100000", "--json", "id"])
            #expect(most.status == 0 && most.errors.isEmpty, "\(most.errors)")
            let one = try await jobs(database, ["list", "--limit", "1", "--tsv", "id"])
            #expect(one.output.split(separator: "\n").count == 1, "\(one.output)")
            #expect(one.errors.contains("there are more than 1: raise --limit"), "\(one.errors)")
            let list = try await jobs(database, ["list", "--json", "id,state"])
            #expect(list.status == 0)
            #expect(list.output.contains("{\"id\":\(ids["parked"] ?? 0),\"state\":\"parked\"}"))
            #expect(!list.output.contains("discarded"))
            let ended = try await jobs(database, ["list", "--state", "discarded", "--json", "id,reason"])
            #expect(ended.output.contains("for the test"))
            let shown = try await jobs(
                database,
                ["show", "\(ids["parked"] ?? 0)", "--json", "state,reason,errors,arguments"]
            )
            #expect(shown.status == 0)
            for part in ["undecodable", "text is missing", "2026-01-02T03:04:05Z", "{\\\"n\\\": 1}"] {
                #expect(shown.output.contains(part), "\(shown.output)")
            }
            let unknown = try await jobs(database, ["show", "424242", "--json"])
            #expect(unknown.status == 3)
            #expect(unknown.output.isEmpty)
            let stats = try await jobs(database, ["stats", "--json"])
            #expect(stats.status == 0)
            #expect(stats.output.contains("\"parked\": 1"))
            try await database.psql("update accountctl.jobs set exhausted_at = now() where id = \(ids["parked"] ?? 0)")
            #expect(try await jobs(database, ["stats"]).status == 7)
            #expect(
                try await jobs(database, ["list", "--exhausted", "--json", "id"]).output.contains(
                    "\(ids["parked"] ?? 0)"
                )
            )
            try await database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('here:1', '1', 4, '{mail}', '{test.kind}', now() + interval '1 hour')
                """
            )
            let workers = try await jobs(database, ["workers", "--json", "name,status,slots"])
            #expect(workers.status == 0)
            #expect(workers.output.contains("{\"name\":\"here:1\",\"slots\":4,\"status\":\"alive\"}"))
        }
    }

    @Test("Whoever works on one job by hand is told apart from the workers, and is none")
    func holders() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('by hand', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            let fields = ["workers", "--json", "name,role,status"]
            var workers = try await jobs(database, fields)
            #expect(workers.status == 5)
            #expect(workers.output.contains("{\"name\":\"by hand\",\"role\":\"holder\",\"status\":\"alive\"}"))
            try await database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('here:1', '1', 4, '{mail}', '{test.kind}', now() + interval '1 hour')
                """
            )
            workers = try await jobs(database, fields)
            #expect(workers.status == 0)
            #expect(workers.output.contains("{\"name\":\"here:1\",\"role\":\"worker\",\"status\":\"alive\"}"))
            let table = try await jobs(database, ["workers"]).output
            #expect(table.contains("ROLE") && table.contains("holder"), "\(table)")
        }
    }

    @Test("Schedules tell their last and next instants, those of other releases too")
    func schedules() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into accountctl.periodic_slots (name, slot, job)
                values ('mail.schedule', '2026-01-02 03:00Z', 6), ('mail.schedule', '2026-01-02 03:05Z', 7),
                    ('of.another', '2026-01-02 03:04Z', null)
                """
            )
            let told = try await jobs(database, ["schedules", "--json", "name,schedule,last_at,last_job"])
            #expect(told.status == 0, "\(told)")
            for line in [
                #"{"last_at":"2026-01-02T03:05:00.000Z","last_job":7,"name":"mail.schedule","schedule":"*/5 * * * *"}"#,
                #"{"last_at":"2026-01-02T03:04:00.000Z","last_job":null,"name":"of.another","schedule":null}"#,
                #"{"last_at":null,"last_job":null,"name":"deletion.upkeep","schedule":"* * * * *"}"#,
            ] {
                #expect(told.output.contains(line), "\(line): \(told.output)")
            }
            let next = try await jobs(database, ["schedules", "--tsv", "name,next_at"]).output
            let row = next.split(separator: "\n").first { $0.hasPrefix("mail.schedule\t") }
            let moment = try Date(String(row?.dropFirst("mail.schedule\t".count) ?? ""), strategy: .iso8601)
            #expect(moment.timeIntervalSinceNow > -60 && moment.timeIntervalSinceNow < 360)
            #expect(moment.timeIntervalSince1970.truncatingRemainder(dividingBy: 300) == 0)
            #expect(!told.errors.contains("clock"), "\(told)")

            try await database.psql(
                "insert into accountctl.periodic_slots (name, slot, job) values ('mail.schedule', '2100-01-02 03:00Z', 8)"
            )
            let ahead = try await jobs(database, ["schedules", "--json", "name,last_at,last_job,ahead_at"])
            let line = """
                {"ahead_at":"2100-01-02T03:00:00.000Z","last_at":"2026-01-02T03:05:00.000Z","last_job":7,"name":"mail.schedule"}
                """
            #expect(ahead.status == 0 && ahead.output.contains(line), "\(ahead)")
            #expect(ahead.errors.contains("mail.schedule") && ahead.errors.contains("a clock was set back"), "\(ahead)")
        }
    }

    @Test("A dry run tells what would happen, of ids that do not exist too, and changes nothing")
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
            try await run(["snooze", "--for", "1h"], "available", 0, "would wait on")
            try await run(["snooze", "--for", "1h"], "parked", 6, "it is parked")
            for words in [
                ["pause", "mail"], ["resume", "mail"], ["limit", "mail", "--count", "5"],
                ["limit", "--kind", "k", "--running", "5"], ["enqueue", "k", "--unique-key", "u"],
            ] {
                #expect(try await jobs(database, words + ["--dry-run"]).status == 0, "\(words)")
            }
            let many = try await jobs(database, ["retry", "--state", "parked", "--dry-run", "--json"])
            #expect(many.output.contains("would run again"))
            // No number: the one it had was given back.
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

    @Test("What is in the way of one job keeps neither the others from being acted on nor the results from being told")
    func oneOfSeveral() async throws {
        for isCutOff in [false, true] {
            try await TestDatabase.with(.migrated) { database in
                let ids = try await fill(database)
                let several = ["available", "running", "scheduled"].map { ids[$0] ?? 0 }
                var variables = database.variables
                // One that is to be cut off waits until then, however long that takes.
                variables["ACCOUNTCTL_DATABASE_STATEMENT_TIMEOUT"] = isCutOff ? "60s" : "3s"
                let environment = variables
                try await database.withConnection { handler in
                    try await handler.transaction { handler in
                        // As the fence of a handler's transaction does.
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

    @Test("A prune drops no more days than were confirmed, whatever came while the question waited")
    func pruneAsConfirmed() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql("select accountctl.prepare_job_history('2020-01-01', 1)")
            let words = ["jobs", "prune", "--older-than-days", "30"]
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

    @Test("Every kind of job that the sources declare is known with its queue")
    func kinds() throws {
        #expect(Set(AccountLifecycle.queues.keys) == (try ExampleTests.kinds()))
    }
}
