import Foundation
import TestSupport
import Testing

/// A stopped request tells the operator on call what it waits for, who stopped it, and how to let it go on.
@Suite("Stopped requests", .timeLimit(.minutes(5)))
struct StandingRequestTests {
    @Test("A deletion goes on by itself once its blocking rows or its residue are removed, and says so before")
    func causes() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            func run(_ words: String...) async throws -> AccountctlProcess.Result {
                try await AccountctlProcess(words, environment: site.variables).result()
            }
            try await site.database.psql(
                """
                create table public.orders (buyer uuid references auth.users, note text);
                insert into public.orders select id, email from auth.users where email = 'stays2@example.com';
                grant select on public.orders to postgres;
                select accountctl.open_deletion_request(id, 'operator', null, '0 seconds')
                from auth.users
                where email = 'stays2@example.com'
                """
            )
            let request = try await site.database.psql("select id from accountctl.deletion_requests")
            let causes = [
                ("blocked", "within five minutes", "update public.orders set buyer = null"),
                ("residue", "within the hour", "update public.orders set note = null"),
            ]
            for (state, time, end) in causes {
                #expect(try await run("worker", "--until-idle").status == 0)
                let shown = try await run("deletion", "show", request, "--tsv", "state,ended_by").output
                #expect(shown.hasPrefix(state + "\t") && shown.contains("\(time), or at once with"), "\(shown)")
                try await site.database.psql("\(end); update accountctl.jobs set run_at = now()")
            }
            #expect(try await run("worker", "--until-idle").status == 0)
            #expect(try await site.database.psql("select state from accountctl.deletion_requests") == "verified")
            let retries = "select count(*) from accountctl.operator_log where action = 'deletion.retry'"
            #expect(try await site.database.psql(retries) == "0")
        }
    }

    @Test("A request without a job says so, for as long as it is open")
    func withoutJob() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            func run(_ words: String...) async throws -> AccountctlProcess.Result {
                let result = try await stage.run(words)
                #expect(result.status == 0, "\(words): \(result)")
                return result
            }
            let request = try await stage.request(id)
            let said = "no job is carrying it out at the moment"
            #expect(try await !run("deletion", "show", request).errors.contains(said))
            let job = try await stage.database.psql("select id from accountctl.jobs where kind = 'account.delete'")
            _ = try await run("jobs", "discard", job, "--reason", "a mistake", "--yes")
            let shown = try await run("deletion", "show", request)
            #expect(shown.errors.contains(said), "\(shown)")
            _ = try await run("deletion", "cancel", request)
            #expect(try await !run("deletion", "show", request).errors.contains(said))
        }
    }

    @Test("A pause of one request says since when, by whom and why; a new reason is logged, a repeated one is not")
    func reasons() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            for (reason, outcome) in [
                ("first", "done"), ("second", "done"), ("second", "unchanged"), (nil, "unchanged"),
            ] {
                let why = reason.map { ["--reason", $0] } ?? []
                let paused = try await stage.run(["deletion", "pause", id, "--tsv", "outcome"] + why)
                #expect(paused.output == outcome + "\n", "\(paused)")
            }
            let log =
                "select string_agg(reason, ' ' order by id) from accountctl.operator_log where action = 'deletion.pause'"
            #expect(try await stage.database.psql(log) == "first second")
            let shown = try await stage.run(["deletion", "show", id]).output
            #expect(shown.contains(/Paused +since [0-9-]+ [0-9:]+Z, by olga: second/), "\(shown)")
            #expect(try await stage.run(["deletion", "show", id, "--tsv", "paused"]).output == "true\n")
            // The previous pause is not shown any more.
            #expect(try await stage.run(["deletion", "resume", id]).status == 0)
            for command in ["deletion", "user"] {
                let resumed = try await stage.run([command, "show", id, "--tsv", "paused"])
                #expect(resumed.output == "false\n", "\(resumed)")
            }
            #expect(try await stage.run(["deletion", "pause", id]).status == 0)
            let again = try await stage.run(["deletion", "show", id]).output
            #expect(again.contains("by olga") && !again.contains("second"), "\(again)")
        }
    }

    @Test("A pause or hold is named before the state, and the list shows the user and the end of the grace period")
    func brakesFirst() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            func listed() async throws -> (header: Substring, row: String) {
                let list = try await stage.run(["deletion", "list"]).output
                return (list.prefix { $0 != "\n" }, list)
            }
            let plain = try await listed()
            for heading in ["USER", "END OF GRACE", "ENDS BY"] {
                #expect(plain.header.contains(heading), "\(plain.header)")
            }
            #expect(!plain.header.contains("HELD") && !plain.header.contains("PAUSED"), "\(plain.header)")
            #expect(plain.row.contains(id), "\(plain.row)")
            #expect(try await stage.run(["user", "hold", id, "--reason", "court"]).status == 0)
            let held = try await listed()
            #expect(held.header.contains("HELD") && held.row.contains("releasing the hold"), "\(held)")
            let ended = try await stage.run(["deletion", "show", id, "--tsv", "ended_by"]).output
            let release = try #require(ended.firstMatch(of: /hold: accountctl (user release \S+);/)?.1, "\(ended)")
            let words = release.split(separator: " ").map(String.init)
            #expect(try await stage.run(words + ["--dry-run"]).status == 0, "\(words)")
            #expect(try await stage.run(["deletion", "pause", id]).status == 0)
            let shown = try await stage.run(["deletion", "show", id, "--tsv", "state,ended_by"]).output
            #expect(shown.hasPrefix("grace\taccountctl deletion resume "), "\(shown)")
        }
    }

    @Test("A request whose waiting period is over says that it waits for a worker")
    func due() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            func endedBy(_ changes: String) async throws -> String {
                try await stage.database.psql("update accountctl.deletion_requests set \(changes)")
                return try await stage.run(["deletion", "show", id, "--tsv", "ended_by"]).output
            }
            let grace = try await endedBy("run_after = now() + interval '1 hour'")
            #expect(grace.hasPrefix("the end of the grace period, or accountctl deletion cancel "), "\(grace)")
            let waiting = try await endedBy("run_after = now() - interval '7 days'")
            #expect(waiting.hasPrefix("a worker: the grace period is over, see accountctl doctor"), "\(waiting)")
            let settling = try await endedBy(
                "state = 'settling', locked_out_at = now(), settle_after = now() + interval '1 hour'"
            )
            #expect(settling.hasPrefix("the expiry of the last access token"), "\(settling)")
            let search = try await endedBy("settle_after = now() - interval '1 hour'")
            #expect(search.hasPrefix("a worker, for a last search: "), "\(search)")
        }
    }

    @Test("A list on a terminal of 80 columns shows the state of a request and what ends it")
    func narrowList() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let request = try await stage.request(id)
            let list = try await TerminalSession.run(
                ["deletion", "list"],
                environment: stage.variables.merging(["NO_COLOR": "1"]) { $1 }
            )
            #expect(list.status == 0 && list.screen.contains("\n\(request)  grace  "), "\(list.screen)")
            #expect(list.screen.contains("ENDS BY"), "\(list.screen)")
            // The order of the columns in TSV is unchanged, for programs.
            let lines = try await stage.run(["deletion", "list", "--tsv"]).output
            #expect(lines.hasPrefix("\(request)\t\(id)\tgrace\t"), "\(lines)")
        }
    }

    @Test("A list on a terminal of 100 columns shows the whole cause of a request that is blocked, and when one ended")
    func whyAndEnd() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.request(id)
            let request = try await stage.database.psql(
                """
                insert into accountctl.deletion_steps (request_id, step, started_at)
                select id, 'preflight', now() from accountctl.deletion_requests;
                update accountctl.deletion_requests set state = 'blocked', situation = '{"code": "sealing_key_missing"}'
                returning id
                """
            )
            func listed() async throws -> String {
                let list = try await TerminalSession.run(
                    ["deletion", "list", "--all"],
                    environment: stage.variables.merging(["NO_COLOR": "1"]) { $1 },
                    columns: 100
                )
                #expect(!list.screen.contains("END OF GRACE"), "\(list.screen)")
                return list.screen
            }
            let blocked = try await listed()
            #expect(blocked.contains(/blocked +[0-9-]+ [0-9:]+Z  sealing_key_missing  preflight/), "\(blocked)")
            #expect(blocked.contains("No room for ENDS BY and USER: "), "\(blocked)")
            #expect(try await stage.run(["deletion", "cancel", request]).status == 0)
            // A hold of the account does not concern a request that has ended.
            #expect(try await stage.run(["user", "hold", id, "--reason", "court"]).status == 0)
            let ended = try await listed()
            #expect(!ended.contains("HELD"), "\(ended)")
            #expect(
                ended.contains(/cancell… +[0-9-]+ [0-9:]+Z  preflig…  [0-9-]+ [0-9:]+Z/) && ended.contains("ENDED"),
                "\(ended)"
            )
        }
    }

    @Test("Cancelling or discarding the job of a deletion names the command that cancels the deletion")
    func jobs() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let request = try await stage.request(id)
            let job = try await stage.database.psql("select id from accountctl.jobs where kind = 'account.delete'")
            let other = try await stage.database.psql("select accountctl.enqueue_job('test.kind', queue => 'mail')")
            for words in [["cancel"], ["discard", "--reason", "x"]] {
                let end = try await stage.run(["jobs"] + words + [job, other, "--dry-run"])
                #expect(end.status == 0, "\(end)")
                #expect(end.errors.contains("job \(job) carries out a deletion"), "\(end)")
                #expect(end.errors.contains("accountctl deletion cancel \(request)"), "\(end)")
                #expect(!end.errors.contains("job \(other) "), "\(end)")
            }
        }
    }
}
