import Foundation
import TestSupport
import Testing

/// Tests of what is shown of jobs, workers and schedules.
extension JobsCommandTests {
    @Test("The commands list, show, stats and workers print their JSON and end with their exit codes")
    func looks() async throws {
        try await TestDatabase.with(.migrated) { database in
            // A holder, who works on one job by hand, takes no other.
            try await database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('rehearsal', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            #expect(try await jobs(database, ["workers"]).status == 5)
            #expect(try await jobs(database, ["list"]).errors.contains("No jobs."))
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
            try await database.psql(
                """
                update accountctl.jobs set max_attempts = 7 where id = \(ids["parked"] ?? 0);
                update accountctl.job_history set max_attempts = 8 where id = \(ids["discarded"] ?? 0)
                """
            )
            let discarded = try await jobs(database, ["show", "\(ids["discarded"] ?? 0)", "--json", "max_attempts"])
            #expect(discarded.output.contains("\"max_attempts\": 8"), "\(discarded)")
            let shown = try await jobs(
                database,
                ["show", "\(ids["parked"] ?? 0)", "--json", "state,reason,errors,arguments,max_attempts"]
            )
            #expect(shown.status == 0)
            // All times are shown in UTC, whatever the time zone of the session that wrote them.
            let time = "\"2026-01-02T03:04:05.679Z\""
            for part in ["undecodable", "text is missing", time, "\"n\": 1", "\"max_attempts\": 7"] {
                #expect(shown.output.contains(part), "\(shown.output)")
            }
            let people = try await jobs(database, ["show", "\(ids["parked"] ?? 0)"])
            for label in ["Priority", "Attempt", "Attempts at most", "Arguments version", "  2026-01-02 03:04:05Z"] {
                #expect(people.output.contains("\n\(label) "), "\(people.output)")
            }
            let unknown = try await jobs(database, ["show", "424242", "--json"])
            #expect(unknown.status == 3)
            #expect(unknown.output.isEmpty)
            let stats = try await jobs(database, ["stats", "--json"])
            #expect(stats.status == 7)
            #expect(stats.output.contains("\"parked\": 1") && stats.output.contains("\"unreadable\": 1"))
            // A job that is parked for a limit goes on by itself once there is room.
            try await database.psql("update accountctl.jobs set parked_for = 'limit' where parked_for = 'undecodable'")
            #expect(try await jobs(database, ["stats"]).status == 0)
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

    @Test("The stats name a kind that fails, and tell that no worker is alive and how much a limit and a rate leave")
    func troubles() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await database.psql(
                """
                insert into accountctl.jobs (queue, kind, state, attempt, run_at, waiting_since, errors)
                select 'mail', kind, 'scheduled', 1, now() + interval '1 hour', now() - since,
                    jsonb_build_array(jsonb_build_object('at', now() - interval '1 hour', 'error', 'no answer'))
                -- The second went on since, and waits for something else.
                from (values ('fails', interval '1 hour'), ('waits', interval '0')) as job (kind, since);
                insert into accountctl.jobs (queue, kind, state, worker, limit_key)
                values ('mail', 'full', 'running', 1, null), ('mail', 'keyed', 'running', 1, null),
                    ('mail', 'keyed', 'running', 1, 'a'), ('mail', 'keyed', 'running', 1, 'b'),
                    ('mail', 'keyed', 'running', 1, 'b');
                insert into accountctl.job_limits (kind, set_running, set_running_per_key)
                values ('full', 1, null), ('idle', 2, null), ('keyed', null, 3);
                -- No tokens are added before this time.
                insert into accountctl.queues (name, rate_limit, rate_period, rate_tokens, rate_counted_at)
                values ('mail', 5, '30 s', 3.5, now() + interval '1 hour')
                """
            )
            let stats = try await jobs(database, ["stats", "--tsv", "failing,limits,settings,workers_alive"])
            #expect(stats.status == 0)
            for part in [
                #"[{"jobs":1,"kind":"fails","last_error":"no answer"}]"#,
                #""kind":"full","running":1,"running_now":1,"#, #""kind":"idle","running":2,"running_now":0,"#,
                #""kind":"keyed","running":null,"running_now":4,"running_of_one_key":2,"running_per_key":3"#,
                #""left":3,"#, "\t0\n",
            ] {
                #expect(stats.output.contains(part), "\(part): \(stats)")
            }
            let people = try await jobs(database, ["stats"]).output
            for label in ["FAILING KIND", "RUN NOW", "LEFT NOW", "Workers alive"] {
                #expect(people.contains(label), "\(people)")
            }
        }
    }

    @Test("Whoever works on one job by hand is listed as a holder, and does not count as a worker")
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
            // A narrow table keeps the column that shows whether a worker is alive.
            let narrow = try await TerminalSession.run(
                ["jobs", "workers"],
                environment: database.variables,
                columns: 60
            )
            #expect(narrow.screen.contains("LAST HEARTBEAT"), "\(narrow.screen)")
        }
    }

    @Test("Schedules show their last and next times, even schedules of other releases")
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
}
