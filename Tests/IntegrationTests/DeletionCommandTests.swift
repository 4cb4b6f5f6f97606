import Foundation
import TestSupport
import Testing

/// The commands of `deletion` as somebody types them, or a script without a terminal.
@Suite("Deletion commands", .timeLimit(.minutes(2)))
struct DeletionCommandTests {
    private static let nobody = "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"

    @Test("What is not there is told by the exit code, and nothing is printed")
    func unknown() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let commands = [
                ["show"], ["cancel"], ["retry"], ["pause"], ["resume"], ["proceed", "--without-apple"], ["receipt"],
                ["request", "--confirm=\(Self.nobody)"], ["plan"], ["rehearse", "--confirm=\(Self.nobody)"],
            ]
            for words in commands {
                let result = try await site.deletion(words + [Self.nobody])
                #expect(result.status == 3, "\(words): \(result.errors)")
                #expect(result.output.isEmpty, "\(words)")
                #expect(result.errors.contains(Self.nobody) || result.errors.contains("no account"), "\(words)")
            }
            // There is a request, and no receipt yet.
            let early = try await site.deletion(["receipt", try await site.request()])
            #expect(early.status == 3)
            #expect(early.errors.contains("there is no receipt yet"))
        }
    }

    @Test("A dry run, and a question that nobody is there to answer, change nothing")
    func nothingChanges() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            try await site.leaveResidue(of: UUID().uuidString.lowercased())
            let before = try await site.everything()
            let irreversible = [
                ["request", account], ["rehearse", account], ["proceed", "--without-apple", request],
                ["accept", "public.invoices.buyer", "--reason", "kept by law"], ["resume", "--all"],
            ]
            let reversible = [
                ["cancel", request], ["retry", request], ["pause", request], ["pause", "--all"], ["resume", request],
            ]
            for words in irreversible + reversible {
                let result = try await site.deletion(words + ["--dry-run"])
                #expect(result.status == 0, "\(words): \(result.errors)")
                let isSo = words == ["resume", request]
                #expect((result.errors + result.output).contains(isSo ? "Nothing to do" : "would"), "\(words)")
            }
            for words in irreversible {
                let unasked = try await site.deletion(words)
                #expect(unasked.status == 2, "\(words)")
                #expect(unasked.errors.contains("--confirm="), "\(words): \(unasked.errors)")
                #expect(try await site.deletion(words + ["--confirm=yes"]).status == 2, "\(words)")
            }
            #expect(try await site.deletion(["accept", "public.invoices.buyer"]).status == 2)
            #expect(try await site.deletion(["proceed", request]).status == 2)
            #expect(try await site.deletion(["pause"]).status == 2)
            #expect(try await site.everything() == before)
        }
    }

    @Test("Requested, paused, resumed, cancelled; a second time it is said why not")
    func life() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let asked = try await site.deletion(["request", "stays2@example.com", "--confirm=\(account)"])
            #expect(asked.status == 0, "\(asked.errors)")
            #expect(asked.errors.contains("cancel with: accountctl deletion cancel"))
            let again = try await site.deletion(["request", account, "--confirm=\(account)"])
            #expect(again.status == 0)
            #expect(again.errors.contains("an open request already"))
            let rehearsed = try await site.deletion(["request", account, "--dry-run", "--grace-seconds", "0"])
            #expect(rehearsed.status == 0 && rehearsed.errors.contains("grace stays as it was"), "\(rehearsed)")
            #expect(rehearsed.output.contains("found"), "\(rehearsed.output)")
            #expect(try await site.deletion(["list", "--state", "grace"]).output.contains("grace"))
            let paused = "select count(*) from accountctl.deletion_requests where paused_at is not null"
            #expect(try await site.deletion(["pause", account]).status == 0)
            #expect(try await site.database.psql(paused) == "1")
            #expect(try await site.deletion(["resume", account]).status == 0)
            #expect(try await site.database.psql(paused) == "0")
            let plan = try await site.deletion(["pause", "--all", "--dry-run"])
            #expect(plan.status == 0 && plan.errors.contains("would pause every deletion"), "\(plan)")
            #expect(try await site.deletion(["pause", "--all", "--reason", "looking"]).status == 0)
            for (words, said) in [
                ([], "every deletion is paused already"),
                (["--reason", "a clone"], "would replace who paused all and why"),
            ] {
                let again = try await site.deletion(["pause", "--all", "--dry-run"] + words)
                #expect(again.status == 0 && again.errors.contains(said), "\(again)")
                #expect(!again.errors.contains("would pause every deletion"), "\(again)")
            }
            #expect(try await site.deletion(["show", account]).output.contains("everything is"))
            let unasked = try await site.deletion(["resume", "--all"])
            #expect(unasked.status == 2 && unasked.errors.contains("--confirm=all"), "\(unasked.errors)")
            #expect(try await site.deletion(["resume", "--all", "--confirm=all"]).status == 0)
            // Its time of grace over, nothing but the brake keeps it.
            let due = "update accountctl.deletion_requests set run_after = now() where user_id = '\(account)'"
            _ = try await site.database.psql(due)
            #expect(try await site.deletion(["pause", account]).status == 0)
            #expect(try await site.deletion(["resume", account]).status == 2)
            #expect(try await site.database.psql(paused) == "1")
            _ = try await site.database.psql(
                "update accountctl.deletion_requests set run_after = now() + interval '1 day'"
            )
            #expect(try await site.deletion(["resume", account]).status == 0)
            let early = try await site.deletion(["retry", account, "--tsv", "outcome"])
            #expect(early.output == "unchanged\n" && early.errors.contains("the end of grace"), "\(early)")
            _ = try await site.database.psql("update accountctl.deletion_requests set failures = 1")
            let retried = try await site.deletion(["retry", account, "--tsv", "outcome"])
            #expect(retried.output == "done\n", "\(retried)")
            // What no step tells of, such as an end by the time limit, stands with the job.
            _ = try await site.database.psql(
                """
                update accountctl.jobs
                set errors = '[{"at": "2026-01-02T03:04:05Z", "attempt": 1, "error": "did not end within 21600.0 seconds"}]'
                where kind = 'account.delete'
                """
            )
            let failed = try await site.deletion(["show", account, "--tsv", "job.job_error,job.job_error_at"])
            #expect(failed.output == "did not end within 21600.0 seconds\t2026-01-02T03:04:05.000Z\n", "\(failed)")
            let goesOn = try await site.deletion(["proceed", account, "--without-apple"])
            let id = try await site.database.psql(
                "select id from accountctl.deletion_requests where user_id = '\(account)'"
            )
            #expect(goesOn.errors.contains("--confirm=\(id)"))
            #expect(try await site.deletion(["proceed", account, "--without-apple", "--confirm=\(id)"]).status == 0)
            #expect(try await site.deletion(["cancel", account, "--reason", "asked by mail"]).status == 0)
            for words in ["cancel", "retry", "pause", "resume"] {
                let late = try await site.deletion([words, account])
                #expect(late.status == 6, "\(words)")
                #expect(late.errors.contains("has ended: cancelled"), "\(words): \(late.errors)")
            }
            let log = "select string_agg(action, ' ' order by id) from accountctl.operator_log"
            let actions = """
                deletion.request deletion.request deletion.pause deletion.resume deletion.pause_all deletion.resume_all \
                deletion.pause deletion.resume deletion.retry deletion.proceed deletion.cancel
                """
            #expect(try await site.database.psql(log) == actions)
        }
    }

    @Test("Requests that are paused one by one are listed as such, wherever they stand")
    func paused() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            #expect(try await site.deletion(["request", account, "--confirm=\(account)"]).status == 0)
            let none = try await site.deletion(["list", "--paused"])
            #expect(none.status == 0 && none.errors.contains("No deletion requests"), "\(none)")
            #expect(try await site.deletion(["pause", account]).status == 0)
            let shown = try await site.deletion(["list", "--paused", "--tsv", "state,paused"])
            #expect(shown.output == "grace\ttrue\n", "\(shown)")
            let all = try await site.deletion(["list", "--csv", "id,paused"])
            #expect(all.output.hasPrefix("id,paused\n") && all.output.contains("\(request),false\n"), "\(all)")
            let json = try await site.deletion(["list", "--state", "grace", "--json"])
            #expect(json.output.contains(#""paused":true"#), "\(json)")
            let table = try await site.deletion(["list"])
            #expect(table.output.contains("PAUSED"), "\(table)")
        }
    }

    @Test("A pause of the queue, or of everything, is told with the request, with its account and beside the list")
    func pausedWhole() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            #expect(try await stage.run(["deletion", "request", id, "--confirm=\(id)"]).status == 0)
            let looks = [
                ["deletion", "show", id, "--tsv", "paused"], ["user", "show", id, "--tsv", "paused"],
            ]
            let words = [["deletion", "show", id], ["user", "show", id], ["deletion", "list"]]
            for (stop, release) in [
                (["jobs", "pause", "deletions", "--yes"], ["jobs", "resume", "deletions"]),
                (["deletion", "pause", "--all"], ["deletion", "resume", "--all", "--confirm=all"]),
            ] {
                #expect(try await stage.run(stop + ["--reason", "incident 7"]).status == 0)
                for look in looks { #expect(try await stage.run(look).output == "true\n", "\(stop) \(look)") }
                for look in words {
                    let told = try await stage.run(look)
                    #expect((told.output + told.errors).contains("incident 7"), "\(stop) \(look): \(told)")
                }
                #expect(try await stage.run(release).status == 0)
                for look in looks { #expect(try await stage.run(look).output != "true\n", "\(release) \(look)") }
                for look in words {
                    let told = try await stage.run(look)
                    #expect(!(told.output + told.errors).contains("incident 7"), "\(release) \(look): \(told)")
                }
            }
        }
    }

    @Test("Only a column that some request reports can be accepted; what was accepted is shown, and can be withdrawn")
    func accepted() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            try await site.leaveResidue()
            let stored = "select string_agg(column_name || ': ' || reason, ', ') from accountctl.accepted_columns"
            @Sendable func accept(_ column: String, _ more: String...) async throws -> AccountctlProcess.Result {
                try await site.deletion(["accept", column, "--confirm=\(column)", "--reason", "kept by law"] + more)
            }
            for more in ["--dry-run", "--no-input"] {
                let typo = try await accept("public.invoices.byer", more)
                #expect(typo.status == 3, "\(typo)")
                #expect(typo.errors.contains("public.invoices.buyer and public.notes.body"), "\(typo)")
            }
            #expect(try await site.database.psql(stored) == "")
            #expect(try await accept("public.invoices.buyer").status == 0)
            #expect(try await site.database.psql(stored) == "public.invoices.buyer: kept by law")
            let shown = try await site.deletion(["show", request])
            #expect(shown.output.contains("kept by law"), "\(shown)")
            let json = try await site.deletion(["show", request, "--json", "accepted"])
            #expect(json.output.contains(#""column": "public.invoices.buyer""#), "\(json)")
            #expect(!json.output.contains("public.notes.body"), "\(json)")
            // Nothing has counted it yet.
            #expect(try await accept("public.invoices.buyer", "--withdraw", "--dry-run").status == 0)
            #expect(try await site.database.psql(stored) != "")
            #expect(try await accept("public.invoices.buyer", "--withdraw").status == 0)
            #expect(try await site.database.psql(stored) == "")
            #expect(try await accept("public.invoices.buyer", "--withdraw").status == 3)
            let log = "select string_agg(action, ' ' order by id) from accountctl.operator_log"
            #expect(try await site.database.psql(log) == "deletion.accept deletion.withdraw")
            // What is accepted is known, too, when no request reports it any more.
            #expect(try await accept("public.invoices.buyer").status == 0)
            try await site.database.psql("update accountctl.deletion_requests set situation = null, state = 'running'")
            #expect(try await accept("public.invoices.buyer").status == 0)
            #expect(try await accept("public.notes.body").status == 3)
            // A pause takes the findings away, and the decision may come meanwhile.
            let early = try await accept("public.profiles.full_name")
            #expect(early.status == 0 && early.errors.contains("no open request reports"), "\(early)")
        }
    }

    @Test("For every state it is shown what ends it, and the exit code tells the ones that need somebody")
    func states() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let cases: [(state: String, situation: String?, status: Int32, words: String)] = [
                ("requested", nil, 0, "a worker"), ("grace", nil, 0, "the end of grace"),
                ("held", "paused", 6, "deletion resume"), ("held", "legal_hold", 6, "releasing the hold"),
                ("held", "ceiling", 6, "as the hour passes"), ("blocked", "blocking_rows", 6, "deletion retry"),
                ("blocked", "undecided_bucket", 6, "deletion.kept_buckets"),
                ("blocked", "other_account", 6, "deletion cancel"),
                ("blocked", "sealing_key_missing", 6, "sealing key"),
                ("waiting_for_apple", "apple_misconfigured", 0, "proceed --without-apple"),
                ("running", nil, 0, "the steps that are left"), ("settling", nil, 0, "the last access token"),
                ("residue", "residue", 5, "deletion accept COLUMN"),
            ]
            for (state, situation, status, words) in cases {
                try await site.database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = '\(state)',
                        situation = \(situation.map { "'{\"code\": \"\($0)\"}'" } ?? "null"),
                        locked_out_at = now(),
                        settle_after = now()
                    """
                )
                let shown = try await site.deletion(["show", request, "--json", "state,ended_by"])
                #expect(shown.status == status, "\(state) \(situation ?? "")")
                #expect(shown.output.contains(words), "\(state) \(situation ?? ""): \(shown.output)")
            }
        }
    }

    @Test("A plan goes by the configured buckets, and a bucket nobody decided about stands in the way")
    func plan() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let plain = try await site.deletion(["plan", "stays2@example.com"])
            #expect(plain.status == 0, "\(plain.errors)")
            try await site.database.psql(
                """
                insert into storage.buckets (id, name) values ('scans', 'scans');
                insert into storage.objects (bucket_id, name, owner, owner_id)
                select 'scans', id || '/id.png', id, id::text from auth.users
                """
            )
            let before = try await site.everything()
            let cases: [(settings: [String: String], status: Int32, fate: String)] = [
                ([:], 6, "undecided"), (["ACCOUNTCTL_DELETION_BUCKETS": "scans"], 0, "deleted"),
                (["ACCOUNTCTL_DELETION_KEPT_BUCKETS": "scans"], 0, "kept"),
            ]
            for (settings, status, fate) in cases {
                let words = ["plan", "stays2@example.com", "--json", "objects,blockers", "--ask-triggers"]
                let plan = try await site.deletion(words, settings)
                #expect(plan.status == status, "\(fate)")
                #expect(plan.output.contains(fate), "\(plan.output)")
                #expect(plan.output.contains("undecided_bucket") == (status == 6), "\(plan.output)")
            }
            #expect(try await site.everything() == before)
            try await site.database.psql(
                """
                insert into accountctl.holds (user_id, reason, placed_by)
                select id, 'court', 'olga' from auth.users where email = 'stays3@example.com'
                """
            )
            let held = try await site.deletion(
                ["plan", "stays3@example.com", "--json", "blockers"],
                ["ACCOUNTCTL_DELETION_BUCKETS": "scans"]
            )
            #expect(held.status == 6 && held.output.contains("legal_hold"), "\(held)")
        }
    }

    @Test(
        "A rehearsal keeps its account from a worker that runs, for as long as somebody looks",
        .timeLimit(.minutes(2))
    )
    func rehearsalBesideWorker() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let other = try await site.database.psql("select id from auth.users where email = 'stays3@example.com'")
            let begun =
                "select string_agg(step || s.runs, ' ' order by started_at) from accountctl.deletion_steps as s"
                + " join accountctl.deletion_requests as r on r.id = request_id where r.reason = 'rehearsal'"
            try await site.withWorker { worker in
                let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
                let result = try await TerminalSession.live(words, environment: site.variables) { person in
                    #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                    // What came later the worker carries out meanwhile, to its end; and a lease has time to run out.
                    let asked = try await site.deletion([
                        "request", other, "--confirm=\(other)", "--grace-seconds", "0",
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
                            where kinds = '{}' and beat_at > started_at + interval '6 s'
                        )
                        """,
                        changes: "accountctl.workers"
                    )
                    #expect(try await site.database.psql(begun) == "preflight1")
                    let second = try await site.deletion(["rehearse", account, "--confirm=\(account)", "--no-input"])
                    #expect(second.status == 6, "\(second.errors)")
                    let look = try await site.deletion(["rehearse", account, "--dry-run"])
                    #expect(look.status == 6 && look.errors.contains("a worker drives"), "\(look)")
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

extension ErasureSite {
    fileprivate func deletion(_ words: [String], _ settings: [String: String] = [:]) async throws
        -> AccountctlProcess.Result
    {
        try await AccountctlProcess(["deletion"] + words, environment: variables.merging(settings) { $1 }).result()
    }

    /// The id of the open request.
    fileprivate func request() async throws -> String {
        try await database.psql("select id from accountctl.deletion_requests")
    }

    /// Has the open request, or a new one of another account, report two columns as residue.
    fileprivate func leaveResidue(of user: String? = nil) async throws {
        let situation = """
            '{"code": "residue", "findings": [
                {"column": "public.notes.body", "identifiers": ["email"], "count": 1},
                {"column": "public.invoices.buyer", "identifiers": ["email"], "count": 2}
            ]}'
            """
        try await database.psql(
            user.map { user in
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, situation, situation_since, run_after, legal_deadline, locked_out_at
                )
                values (
                    '\(user)', 'app', 'residue', \(situation), now(), now(), now() + interval '1 month', now()
                )
                """
            }
                ?? """
                update accountctl.deletion_requests
                set state = 'residue', situation = \(situation), situation_since = now(), locked_out_at = now()
                """
        )
    }

    /// Everything that a command could change, as one number.
    fileprivate func everything() async throws -> String {
        try await database.psql(
            """
            select md5(string_agg(r, ',' order by r))
            from (
                select t::text as r from accountctl.deletion_requests as t
                union all
                select t::text from accountctl.deletion_steps as t
                union all
                select t::text from accountctl.deletion_brakes as t
                union all
                select t::text from accountctl.accepted_columns as t
                union all
                select t::text from accountctl.operator_log as t
                union all
                select t::text from accountctl.jobs as t
                union all
                select t::text from auth.users as t
                union all
                select t::text from storage.objects as t
            ) as rows
            """
        )
    }
}
