import Foundation
import TestSupport
import Testing

/// `deletion rehearse`: an erasure with somebody who looks at each step.
@Suite("Rehearsals", .timeLimit(.minutes(5)))
struct RehearsalTests {
    @Test(
        "A rehearsal keeps its account from a worker that runs, for as long as somebody looks",
        .timeLimit(.minutes(5))
    )
    func rehearsalBesideWorker() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let other = try await site.database.psql("select id from auth.users where email = 'stays3@example.com'")
            let begun =
                "select string_agg(step || s.runs, ' ' order by started_at) from accountctl.deletion_steps as s"
                + " join accountctl.deletion_requests as r on r.id = request_id where r.reason = 'rehearsal'"
            // A call that is slow is no second run of a step, and a heartbeat that is late no lost lease.
            let patient = ["ACCOUNTCTL_WORKER_LEASE": "15s", "ACCOUNTCTL_STORAGE_TIMEOUT": "10s"]
            try await site.withWorker(patient) { worker in
                let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
                let environment = site.variables.merging(patient) { $1 }
                let result = try await TerminalSession.live(words, environment: environment) { person in
                    #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                    // What came later the worker carries out meanwhile, to its end; and a lease has time to run out.
                    let asked = try await site.deletion([
                        "request", other, "--confirm=\(other)", "--grace", "0",
                    ])
                    #expect(asked.status == 0, "\(asked.errors)")
                    try await site.database.waitUntil(
                        "exists (select from accountctl.deletion_requests where state = 'verified')",
                        changes: "accountctl.deletion_requests"
                    )
                    try await site.database.waitUntil(
                        """
                        exists (
                            select from accountctl.workers
                            where kinds = '{}' and beat_at > started_at + interval '16 s'
                        )
                        """,
                        changes: "accountctl.workers"
                    )
                    #expect(try await site.database.psql(begun) == "preflight1")
                    let second = try await site.deletion(["rehearse", account, "--confirm=\(account)", "--no-input"])
                    #expect(second.status == 6, "\(second.errors)")
                    let look = try await site.deletion(["rehearse", account, "--dry-run"])
                    #expect(look.status == 6 && look.errors.contains("already, by rehearsal by"), "\(look)")
                    for step in ["lock_out", "revoke_apple", "delete_avatars", "delete_rows", "scrub_auth", "verify"] {
                        try person.type("\n")
                        #expect(try await person.waits(for: "\(step): "), "\(person.screen)")
                    }
                    try person.type("\n\n\n\n")
                }
                #expect(result.status == 0, "\(result.screen)")
                #expect(result.screen.contains("verified"), "\(result.screen)")
                worker.signal(SIGTERM)
                #expect(try await worker.result().status == 0)
            }
            let runs = "select count(*), max(runs) from accountctl.deletion_steps"
            #expect(try await site.database.psql(runs) == "18|1")
            let receipts = "select count(*) from accountctl.deletion_receipts"
            #expect(try await site.database.psql(receipts) == "2")
            // Its job goes back, and the worker finds nothing left to do.
            let left = try await AccountctlProcess.run("worker", "--until-idle", environment: site.variables)
            #expect(left.status == 0, "\(left.errors)")
            let jobs = "select count(*) from accountctl.jobs where kind = 'account.delete'"
            #expect(try await site.database.psql(jobs) == "0")
        }
    }

    @Test("Whoever looks for longer than the preflight holds is asked once: it is taken again by itself")
    func rehearsalLookedAtForLong() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
            let result = try await TerminalSession.live(words, environment: site.variables) { person in
                #expect(try await person.waits(for: "Enter goes on"), "\(person.screen)")
                try await site.database.psql(
                    """
                    update accountctl.deletion_steps
                    set started_at = started_at - interval '2 minutes', finished_at = finished_at - interval '2 minutes'
                    """
                )
                try person.type("\n")
                #expect(try await person.waits(for: "preflight: taken again"), "\(person.screen)")
                #expect(try await person.waits(for: "lock_out: "), "\(person.screen)")
                try person.type("\u{3}")
                #expect(try await person.waits(for: "the rehearsal was stopped"), "\(person.screen)")
            }
            #expect(result.status == 130, "\(result.screen)")
            let asked = result.screen.components(separatedBy: "preflight: nothing was touched").count - 1
            #expect(asked == 1, "\(result.screen)")
            let steps = "select string_agg(step || runs, ' ' order by started_at) from accountctl.deletion_steps"
            #expect(try await site.database.psql(steps) == "preflight2 lock_out1")
        }
    }

    @Test("A rehearsal whose job is cancelled ends, before anybody has pressed a key, and takes no further step")
    func rehearsalCancelled() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
            let result = try await TerminalSession.live(words, environment: site.variables) { person in
                #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                let job = try await site.database.psql("select id from accountctl.jobs where kind = 'account.delete'")
                let told = try await AccountctlProcess(["jobs", "cancel", job, "--yes"], environment: site.variables)
                    .result()
                #expect(told.status == 0 && told.output.contains("told to stop"), "\(told)")
                #expect(try await person.waits(for: "which ends the rehearsal"), "\(person.screen)")
            }
            #expect(result.status == 6, "\(result.screen)")
            let steps = "select string_agg(step, ' ') from accountctl.deletion_steps where runs > 0"
            #expect(try await site.database.psql(steps) == "preflight")
        }
    }

    @Test("A rehearsal that a signal stops gives its account back at once, which is no crash")
    func rehearsalStopped() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            for (name, number) in [("stays1", SIGINT), ("stays2", SIGHUP), ("stays3", SIGTERM)] {
                let account = try await site.database.psql(
                    "select id from auth.users where email = '\(name)@example.com'"
                )
                let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
                let result = try await TerminalSession.live(words, environment: site.variables) { person in
                    #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                    let id = try await site.database.psql(
                        """
                        select substring(name from '[0-9]+$')
                        from accountctl.workers
                        where name like 'rehearsal by %'
                        and stopped_at is null
                        """
                    )
                    if number == SIGINT {
                        try person.type("\u{3}")
                    } else {
                        kill(try #require(Int32(id)), number)
                    }
                    #expect(try await person.waits(for: "the rehearsal was stopped"), "\(person.screen)")
                }
                #expect(result.status == 130, "\(result.screen)")
            }
            let jobs = """
                select string_agg(state::text || crashes, ' ')
                from accountctl.jobs
                where kind = 'account.delete'
                """
            #expect(try await site.database.psql(jobs) == "available0 available0 available0")
            let steps = "select string_agg(distinct step, ' ') from accountctl.deletion_steps where runs > 0"
            #expect(try await site.database.psql(steps) == "preflight")
        }
    }

    @Test("A dry run of a rehearsal ends as the rehearsal does, with the same facts")
    func rehearsalsAsForeseen() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            func id(_ name: String) async throws -> String {
                try await site.database.psql("select id from auth.users where email = '\(name)@example.com'")
            }
            let (waits, keyed, kept, filed) = try await (id("stays1"), id("stays2"), id("stays3"), id("stays4"))
            let begun = try await id("stays5")
            #expect(try await site.deletion(["request", waits, "--confirm=\(waits)"]).status == 0)
            try await site.database.psql(
                """
                create table public.orders (id int primary key, buyer uuid references auth.users);
                insert into public.orders values (1, '\(keyed)');
                create function public.keep() returns trigger language plpgsql as $$
                begin
                    if old.id = '\(kept)' then raise exception 'kept'; end if;
                    return old;
                end $$;
                grant execute on function public.keep() to public;
                create trigger keep before delete on public.profiles for each row execute function public.keep();
                insert into storage.buckets (id, name) values ('scans', 'scans');
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('scans', '\(filed)/id.png', '\(filed)', '\(filed)');
                insert into accountctl.deletion_requests (
                    user_id, origin, state, run_after, legal_deadline, locked_out_at, paused_at
                )
                values ('\(begun)', 'app', 'running', now(), now() + interval '1 month', now(), now())
                """
            )
            let before = try await site.everything()
            let cases: [(account: String, status: Int32, state: String, situation: String?, said: String)] = [
                (waits, 0, "grace", nil, "has grace until"),
                (keyed, 6, "blocked", "blocking_rows", "stop before its first step"),
                (kept, 6, "blocked", "refusing_trigger", "stop before its first step"),
                (filed, 6, "blocked", "undecided_bucket", "stop before its first step"),
                (begun, 6, "held", "paused", "stop before its next step"),
            ]
            func facts(_ result: AccountctlProcess.Result) -> [String] {
                let facts = /"(?:state|situation|subject)": (.+?),?\n/
                return result.output.matches(of: facts).map { String($0.1) }
            }
            var foreseen: [[String]] = []
            for (account, status, state, situation, said) in cases {
                let look = try await site.deletion(["rehearse", account, "--dry-run", "--json"])
                #expect(look.status == status && look.errors.contains(said), "\(look)")
                #expect(look.output.contains(#""state": "\#(state)""#), "\(look)")
                #expect(look.output.contains(#""situation": \#(situation.map { #""\#($0)""# } ?? "null")"#), "\(look)")
                #expect(look.output.contains(#""id": null"#) == ![waits, begun].contains(account), "\(look)")
                foreseen.append(facts(look))
            }
            #expect(try await site.everything() == before)
            for (number, expected) in cases.enumerated() {
                let words = ["rehearse", expected.account, "--confirm=\(expected.account)", "--no-input", "--json"]
                let done = try await site.deletion(words)
                #expect(done.status == expected.status, "\(done)")
                #expect(facts(done) == foreseen[number] && !foreseen[number].isEmpty, "\(done)")
                // As in the dry run: a worker that was woken may have the job by now, and is done in no time.
                #expect(!done.output.contains(#""job_state": ""#), "\(done)")
            }
            let left = "select count(*) from auth.users where email like 'stays%'"
            #expect(try await site.database.psql(left) == "5")
        }
    }

    @Test("A rehearsal erases one account and says what to look at; its receipt can be checked")
    func rehearsalAndReceipt() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["rehearse", "stays2@example.com", "--confirm=\(account)", "--no-input"]
            let look = try await site.deletion(["rehearse", account, "--dry-run"])
            #expect(look.status == 0 && look.errors.contains("would erase the account \(account)"), "\(look)")
            #expect(try await site.deletion(["pause", "--all", "--reason", "x"]).status == 0)
            let paused = try await site.deletion(["rehearse", account, "--dry-run"])
            #expect(paused.status == 6 && paused.errors.contains("accountctl deletion resume --all"), "\(paused)")
            #expect(try await site.deletion(["resume", "--all", "--confirm=all"]).status == 0)
            // A pause of the queue stops every erasure, this one too.
            let queue = ["jobs", "pause", "deletions", "--yes"]
            #expect(try await AccountctlProcess(queue, environment: site.variables).result().status == 0)
            for words in [["rehearse", account, "--dry-run"], words] {
                let stopped = try await site.deletion(words)
                #expect(stopped.status == 6 && stopped.errors.contains("jobs resume deletions"), "\(words): \(stopped)")
            }
            let resume = ["jobs", "resume", "deletions"]
            #expect(try await AccountctlProcess(resume, environment: site.variables).result().status == 0)
            #expect(try await site.database.psql("select count(*) from accountctl.deletion_requests") == "0")
            let rehearsal = try await site.deletion(words)
            #expect(rehearsal.status == 0, "\(rehearsal.errors)")
            #expect(rehearsal.output.contains("verified"))
            for step in ["preflight:", "lock_out:", "delete_rows:", "receipt:"] {
                #expect(rehearsal.errors.contains(step), "\(step)")
            }
            #expect(try await site.database.psql("select count(*) from auth.users") == "4")
            let number = try await site.database.psql("select number from accountctl.deletion_receipts")
            // Its job may still be there, until a worker is rid of it; nothing is driven by it.
            let shown = try await site.deletion(["show", number, "--json"])
            #expect(shown.output.contains("verified") && !shown.output.contains(#""job_state": ""#), "\(shown)")
            // Whoever waits for the word waits for the end: the steps before it do not say it.
            let watch = try await site.deletion(["watch", number, "--format", "ndjson"])
            let lines = watch.output.split(separator: "\n")
            #expect(watch.status == 0 && lines.count == 10, "\(watch)")
            #expect(lines.filter { $0.contains("verified") } == Array(lines.suffix(1)), "\(watch)")
            let first = try #require(lines.first)
            #expect(first.contains(#""state":null"#) && first.contains(#""step":"preflight""#), "\(first)")
            // What could not be searched is told as well as what was counted.
            let unsearched = try await site.database.psql(
                """
                select string_agg(distinct u ->> 'reason', ',')
                from accountctl.deletion_receipts,
                    jsonb_path_query(document, '$.steps[*].facts.unreadable[*]') as u
                """
            )
            let json = try await site.deletion(["receipt", number, "--json"])
            #expect(json.output.contains("\"unreadable\"") == !unsearched.isEmpty && !unsearched.isEmpty, "\(json)")
            for name in [number, account] {
                let receipt = try await site.deletion(["receipt", name])
                #expect(receipt.status == 0)
                #expect(receipt.output.contains("intact"))
                #expect(!receipt.output.contains("stays2@example.com") && !receipt.output.contains(account))
            }
            try await site.database.psql(
                "update accountctl.deletion_receipts set document = jsonb_set(document, '{apple}', '\"revoked\"')"
            )
            let changed = try await site.deletion(["receipt", number])
            #expect(changed.status == 5)
            #expect(changed.output.contains("changed"))
            try await site.database.psql("delete from accountctl.deletion_receipts")
            let removed = try await site.deletion(["receipt", account])
            #expect(removed.status == 5)
            #expect(removed.errors.contains("was removed"))
        }
    }
}
