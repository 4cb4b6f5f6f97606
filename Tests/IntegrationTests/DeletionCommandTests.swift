import Foundation
import TestSupport
import Testing

/// The commands of `deletion` as somebody types them, or a script without a terminal.
@Suite("Deletion commands", .timeLimit(.minutes(5)))
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

    @Test("What is not lost is not given up")
    func nothingLost() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            for consent in ["--dry-run", "--confirm=\(request)"] {
                let result = try await site.deletion(["proceed", request, "--without-identifiers", consent])
                #expect(result.status == 6 && result.errors.contains("none of them is lost"), "\(result)")
            }
            let given = "select bool_or(without_identifiers) from accountctl.deletion_requests"
            #expect(try await site.database.psql(given) == "f")
        }
    }

    @Test("What Apple does not hold up does not go on without it; what did is shown")
    func notHeldUpByApple() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let given = "select without_apple from accountctl.deletion_requests"
            func stand(_ state: String, _ situation: String?) async throws {
                try await site.database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = '\(state)',
                        situation = \(situation.map { "'{\"code\": \"\($0)\"}'" } ?? "null"),
                        locked_out_at = case when '\(state)' = 'running' then now() end,
                        without_apple = false
                    """
                )
            }
            let others: [(state: String, situation: String?)] = [
                ("grace", nil), ("requested", nil), ("held", "ceiling"), ("held", "paused"),
                ("blocked", "blocking_rows"), ("running", nil), ("running", "failing"),
            ]
            for (state, situation) in others {
                try await stand(state, situation)
                for consent in ["--dry-run", "--confirm=\(request)"] {
                    let told = try await site.deletion(["proceed", request, "--without-apple", consent])
                    #expect(told.status == 6, "\(state): \(told)")
                    #expect(told.errors.contains("neither Apple nor a missing sealing key"), "\(state): \(told)")
                    #expect(try await site.database.psql(given) == "f", "\(state)")
                }
            }
            let plain = try await site.deletion(["show", request, "--json", "without_apple"])
            #expect(plain.output.contains("false"), "\(plain)")
            for (state, situation) in [
                ("waiting_for_apple", "apple_misconfigured"), ("running", "apple_unreachable"),
                ("running", "sealing_key_missing"), ("blocked", "sealing_key_missing"),
            ] {
                try await stand(state, situation)
                let told = try await site.deletion(["proceed", request, "--without-apple", "--confirm=\(request)"])
                #expect(told.status == 0, "\(state): \(told)")
                #expect(try await site.database.psql(given) == "t", "\(state)")
            }
            let shown = try await site.deletion(["show", request, "--json", "without_apple"])
            #expect(shown.output.contains("true"), "\(shown)")
        }
    }

    @Test("That a request goes on without Apple is taken back, until its account is locked out")
    func withdrawal() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let words = ["proceed", request, "--without-apple", "--withdraw", "--json", "outcome"]
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple', without_apple = true"
            )
            let runs: [(more: [String], outcome: String)] = [
                (["--dry-run"], "would_be_done"), ([], "done"), ([], "unchanged"),
            ]
            for (more, outcome) in runs {
                let told = try await site.deletion(words + more)
                #expect(told.status == 0 && told.output.contains("\"\(outcome)\""), "\(told)")
            }
            let given = "select without_apple from accountctl.deletion_requests"
            #expect(try await site.database.psql(given) == "f")
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'running', without_apple = true, locked_out_at = now()"
            )
            let late = try await site.deletion(words)
            #expect(late.status == 6 && late.errors.contains("locked out by now"), "\(late)")
            #expect(try await site.database.psql(given) == "t")
            let other = try await site.deletion(["proceed", request, "--without-identifiers", "--withdraw"])
            #expect(other.status == 2 && other.errors.contains("--withdraw takes --without-apple back"), "\(other)")
        }
    }

    @Test("A dry run, and a question that nobody is there to answer, change nothing")
    func nothingChanges() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            try await site.leaveResidue(of: UUID().uuidString.lowercased())
            // Anything else does not go on without Apple.
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple' where id = '\(request)'"
            )
            let before = try await site.everything()
            let irreversible = [
                ["request", account], ["rehearse", account], ["proceed", "--without-apple", request],
                ["accept", "public.invoices.buyer", "--reason", "kept by law"],
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
            // Where nothing is paused, there is nothing to ask.
            for more in [["--dry-run"], [], ["--confirm=yes"]] {
                let idle = try await site.deletion(["resume", "--all"] + more)
                #expect(idle.status == 0 && idle.errors.contains("deletions are not paused"), "\(idle)")
            }
            #expect(try await site.everything() == before)
            _ = try await site.database.psql("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'x'")
            let dry = try await site.deletion(["resume", "--all", "--dry-run"])
            #expect(dry.status == 0 && dry.errors.contains("would let every deletion go on"), "\(dry)")
            for more in [[], ["--confirm=yes"]] {
                #expect(try await site.deletion(["resume", "--all"] + more).status == 2)
            }
            let brakes = "select count(*) from accountctl.deletion_brakes where paused_at is not null"
            #expect(try await site.database.psql(brakes) == "1")
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
            let rehearsed = try await site.deletion(["request", account, "--dry-run", "--grace", "0"])
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
            try await site.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple' where user_id = '\(account)'"
            )
            let goesOn = try await site.deletion(["proceed", account, "--without-apple"])
            let id = try await site.database.psql(
                "select id from accountctl.deletion_requests where user_id = '\(account)'"
            )
            #expect(goesOn.errors.contains("--confirm=\(id)"))
            #expect(try await site.deletion(["proceed", account, "--without-apple", "--confirm=\(id)"]).status == 0)
            #expect(try await site.deletion(["cancel", account, "--reason", "asked by mail"]).status == 0)
            let cancelled = try await site.deletion(["cancel", account])
            #expect(cancelled.status == 0 && cancelled.errors.contains("Nothing to do"), "\(cancelled)")
            for words in ["retry", "pause", "resume"] {
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

    @Test("For every state it is shown what ends it, and the exit code tells the ones that need somebody")
    func states() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let request = try await site.request()
            let cases: [(state: String, situation: String?, status: Int32, words: String)] = [
                ("requested", nil, 0, "a worker"), ("grace", nil, 0, "the end of grace"),
                ("held", "paused", 6, "deletion resume --all"), ("held", "legal_hold", 6, "releasing the hold"),
                ("held", "ceiling", 6, "as the hour passes"), ("blocked", "blocking_rows", 6, "deletion retry"),
                ("blocked", "undecided_bucket", 6, "deletion.kept_buckets"),
                ("blocked", "other_account", 6, "deletion cancel"),
                ("blocked", "sealing_key_missing", 6, "apple vault forget-key KEY"),
                ("waiting_for_apple", "apple_misconfigured", 0, "proceed --without-apple"),
                ("waiting_for_apple", "apple_unreachable", 0, "after apple.give_up it goes on"),
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
}
