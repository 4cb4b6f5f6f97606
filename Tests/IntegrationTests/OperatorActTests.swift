import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("Whatever an operator does leaves a line, and a dry run tells the truth", .timeLimit(.minutes(2)))
struct OperatorActTests {
    private func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap { all($0) }
    }

    @Test("Every command that changes something says who did it, why and for which ticket")
    func tree() {
        var writers = 0
        for command in all(Accountctl.self) {
            let parts = Mirror(reflecting: command.init()).children.map { String(describing: type(of: $0.value)) }
            guard parts.contains(where: { $0.contains("WriteOptions") || $0.contains("ConfirmOptions") }) else {
                continue
            }
            writers += 1
            // Acts have theirs with all others.
            #expect(parts.contains { $0.contains("ActingOptions") || $0.contains("ActOptions") }, "\(command)")
        }
        #expect(writers > 25)
    }

    @Test("Acts on jobs, streams and columns are logged with who, why and what, and not when they are only rehearsed")
    func logged() async throws {
        try await OperatorStage.with { stage in
            let database = stage.database
            try await database.psql("select accountctl.prepare_job_history('2020-01-01', 1)")
            let job = try await database.psql(
                "select accountctl.enqueue_job('mail.check', queue => 'mail', run_at => now() + interval '1 hour')"
            )
            try await database.psql(
                """
                insert into accountctl.deletion_requests (
                    user_id, origin, state, situation, run_after, legal_deadline, locked_out_at
                )
                values (
                    gen_random_uuid(), 'app', 'residue',
                    '{"code": "residue", "findings": [
                        {"column": "public.invoices.buyer", "identifiers": ["email"], "count": 1}
                    ]}',
                    now(), now() + interval '1 month', now()
                )
                """
            )
            let acts: [(action: String, words: [String], fact: String)] = [
                ("jobs.pause", ["jobs", "pause", "deletions", "--yes"], "deletions"),
                ("jobs.resume", ["jobs", "resume", "deletions"], "deletions"),
                ("jobs.limit", ["jobs", "limit", "mail", "--count", "5"], "mail: 5 in 60 s"),
                ("jobs.enqueue", ["jobs", "enqueue", "mail.check"], "mail.check"),
                ("jobs.snooze", ["jobs", "snooze", job, "--for", "2h"], job),
                ("jobs.retry", ["jobs", "retry", job], job),
                ("jobs.discard", ["jobs", "discard", job, "--yes"], job),
                ("jobs.prune", ["jobs", "prune", "--older-than-days", "30", "--confirm=1"], "30"),
                ("mail.add_stream", ["relay", "stream", "add", "news", "shop.test"], "news"),
                ("mail.remove_stream", ["relay", "stream", "remove", "news", "--confirm=news"], "news"),
                (
                    "deletion.accept",
                    ["deletion", "accept", "public.invoices.buyer", "--confirm=public.invoices.buyer"],
                    "public.invoices.buyer"
                ),
                (
                    "deletion.withdraw",
                    ["deletion", "accept", "public.invoices.buyer", "--withdraw", "--confirm=public.invoices.buyer"],
                    "public.invoices.buyer"
                ),
                ("deletion.resume_all", ["deletion", "resume", "--all", "--confirm=all"], "{}"),
            ]
            for (action, words, fact) in acts {
                let why = ["--reason", "because", "--ticket", "T-1"]
                let count = "select count(*) from accountctl.operator_log where action = '\(action)'"
                let rehearsed = try await stage.run(words + why + ["--dry-run"])
                #expect(rehearsed.status == 0, "\(words): \(rehearsed.errors)")
                #expect(try await database.psql(count) == "0", "\(words)")
                let done = try await stage.run(words + why)
                #expect(done.status == 0, "\(words): \(done.errors)")
                let line = try await database.psql(
                    "select operator, reason, ticket, facts from accountctl.operator_log where action = '\(action)'"
                )
                #expect(line.hasPrefix("olga|because|T-1|") && line.contains(fact), "\(words): \(line)")
            }
        }
    }

    @Test("A dry run of what would be refused is refused, with the same exit code")
    func dryRuns() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (going, gone) = (OperatorStage.id(1), UUID().uuidString.lowercased())
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(going)', 'app', 'running', now(), now() + interval '1 month', now());
                insert into accountctl.deletion_requests (id, user_id, origin, state, run_after, legal_deadline, finished_at)
                values ('\(gone)', '\(OperatorStage.id(2))', 'app', 'cancelled', now(), now() + interval '1 month', now());
                """
            )
            for words in [
                ["deletion", "cancel", gone], ["deletion", "retry", gone],
                ["user", "suspend", going, "--reason", "spam"],
                ["user", "sign-out", going],
            ] {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 6, "\(words): \(rehearsed.errors)")
                #expect(try await stage.run(words + (words[1] == "suspend" ? ["--yes"] : [])).status == 6, "\(words)")
            }
            let other = OperatorStage.id(2)
            let fine = try await stage.run(["user", "suspend", other, "--reason", "spam", "--dry-run"])
            #expect(fine.status == 0 && fine.errors.contains("Would be done"), "\(fine.errors)")
            let idle = try await stage.run(["user", "restore", other, "--dry-run"])
            #expect(idle.errors.contains("Nothing to do"), "\(idle.errors)")
            let banned = "select count(*) from auth.users where banned_until is not null"
            #expect(try await stage.database.psql(banned) == "0")
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    @Test("A legal hold is told wherever the account is, and one that comes late says what was done before it")
    func holds() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(3)
            let (early, late) = (OperatorStage.id(1), OperatorStage.id(2))
            let placed = try await stage.run(["user", "hold", early, "--reason", "court", "--yes"])
            #expect(placed.status == 0 && !placed.errors.contains("under way"), "\(placed.errors)")
            try await stage.database.psql(
                """
                with request as (
                    insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                    values ('\(late)', 'app', 'running', now(), now() + interval '1 month', now())
                    returning id
                )
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                select id, step, 1, now() from request, unnest(array['lock_out', 'revoke_apple', 'delete_avatars']) as step;
                """
            )
            let tooLate = try await stage.run(["user", "hold", late, "--reason", "court", "--yes"])
            #expect(tooLate.status == 0)
            #expect(tooLate.errors.contains("revoke_apple and delete_avatars"), "\(tooLate.errors)")
            #expect(!tooLate.errors.contains("lock_out"))
            let list = try await stage.run(["user", "list", "--held", "--json", "id,held"])
            #expect(list.output.contains(#"{"held":true,"id":"\#(early)"}"#) && list.output.contains(late))
            let rest = try await stage.run(["user", "list", "--no-held", "--json", "id"])
            #expect(rest.output == "[\n{\"id\":\"\(OperatorStage.id(3))\"}\n]\n", "\(rest.output)")
            let find = try await stage.run(["user", "find", early, "--json", "held"])
            #expect(find.output.contains(#"{"held":true}"#))
            #expect(try await stage.run(["user", "find", early]).errors.contains("under a legal hold"))
            let asked = try await stage.run(["deletion", "request", early, "--confirm=\(early)", "--json"])
            #expect(
                asked.output.contains(#""held": true"#) && asked.errors.contains("under a legal hold"),
                "\(asked.output)"
            )
        }
    }

    @Test("What is said to undo an act or to go on can be typed as it stands")
    func typed() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (one, other) = (OperatorStage.id(1), OperatorStage.id(2))
            // Each act, and what the commands that it tells of leave.
            let acts: [(words: [String], after: String)] = [
                (["user", "suspend", one, "--reason", "spam", "--yes"], "select banned_until is null from auth.users"),
                (["user", "restore", one, "--yes"], "select banned_until is not null from auth.users"),
                (["user", "hold", other, "--reason", "court"], "select count(user_id) = 0 from accountctl.holds"),
                (["user", "release", other], "select count(user_id) = 1 from accountctl.holds"),
                (
                    ["deletion", "request", one, "--confirm=\(one)"],
                    "select state = 'cancelled' from accountctl.deletion_requests"
                ),
                (["deletion", "cancel", one], "select count(*) = 3 from accountctl.deletion_requests"),
                (["deletion", "pause", one], "select bool_and(paused_at is null) from accountctl.deletion_requests"),
                (["deletion", "pause", "--all"], "select paused_at is null from accountctl.deletion_brakes"),
            ]
            for (words, after) in acts {
                // So that there is something to undo.
                if words.starts(with: ["user", "restore"]) {
                    #expect(try await stage.run(["user", "suspend", one, "--reason", "spam", "--yes"]).status == 0)
                }
                if words.starts(with: ["user", "release"]) {
                    #expect(try await stage.run(["user", "hold", other, "--reason", "other court"]).status == 0)
                }
                if words.starts(with: ["deletion", "cancel"]) {
                    #expect(try await stage.run(["deletion", "request", one, "--confirm=\(one)"]).status == 0)
                }
                let done = try await stage.run(words)
                #expect(done.status == 0, "\(words): \(done.errors)")
                let told = try #require(done.errors.firstMatch(of: /with: accountctl (.+)/), "\(words): \(done.errors)")
                var typed = told.1.replacing("WHY", with: "mistake").split(separator: " ").map(String.init)
                if typed.starts(with: ["deletion", "request"]) { typed.append("--confirm=\(one)") }
                if typed.starts(with: ["user", "suspend"]) { typed.append("--yes") }
                if typed.starts(with: ["deletion", "resume", "--all"]) { typed.append("--confirm=all") }
                let next = try await stage.run(typed)
                #expect(next.status == 0, "\(typed): \(next.errors)")
                let filter = words[0] == "user" && after.contains("auth.users") ? " where id = '\(one)'" : ""
                #expect(try await stage.database.psql(after + filter) == "t", "\(words), then \(typed)")
            }
        }
    }

    @Test("A hold for one reason is placed once and shown wherever its deletion is; a release of nothing is no act")
    func oneHold() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            for (reason, said) in [("court", "Done: held."), ("court", "Nothing to do."), ("tax", "Done: held.")] {
                let held = try await stage.run(["user", "hold", id, "--reason", reason])
                #expect(held.status == 0 && held.errors.contains(said), "\(held.errors)")
            }
            _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            let listed = try await stage.run(["deletion", "list", "--tsv", "state,held"])
            #expect(listed.output == "grace\ttrue\n", "\(listed.errors)")
            let shown = try await stage.run(["deletion", "show", id])
            #expect(shown.output.contains("Legal hold      yes"), "\(shown.output)")
            let address = try await stage.run(["deletion", "show", "u1@example.com"])
            #expect(address.status == 2 && address.errors.contains("is no request id, user id"), "\(address)")
            let whose = try await stage.run(["deletion", "list", "--tsv", "user_id"])
            #expect(shown.output.contains(id) && whose.output == "\(id)\n", "\(shown) \(whose)")
            for said in ["Done: released.", "Nothing to do."] {
                let released = try await stage.run(["user", "release", id, "--all-holds", "--confirm=\(id)"])
                #expect(released.errors.contains(said), "\(released)")
            }
            let log = "select string_agg(action, ' ' order by id) from accountctl.operator_log"
            #expect(
                try await stage.database.psql(log)
                    == "deletion.hold deletion.hold deletion.request deletion.release"
            )
        }
    }

    @Test("Of several legal holds none is released without a word which")
    func severalHolds() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            for reason in ["court order", "tax audit", "third"] {
                #expect(try await stage.run(["user", "hold", id, "--reason", reason]).status == 0)
            }
            let asked = try await stage.run(["user", "release", id])
            #expect(asked.status == 6 && asked.errors.contains("court order"), "\(asked)")
            let left = "select string_agg(reason, ', ' order by id) from accountctl.holds where user_id is not null"
            let audit = try await stage.database.psql("select id from accountctl.holds where reason = 'tax audit'")
            let shown = try await stage.run(["user", "show", id, "--json", "holds"])
            #expect(shown.output.replacing(" ", with: "").contains(#""id":\#(audit),"#), "\(shown)")
            let mistyped = try await stage.run(["user", "release", id, "--hold", audit + "0"])
            #expect(
                mistyped.status == 3 && mistyped.errors.contains("no hold \(audit)0 lies on the account"),
                "\(mistyped)"
            )
            for outcome in ["done", "unchanged"] {
                let one = try await stage.run(["user", "release", id, "--hold", audit, "--json", "outcome"])
                #expect(one.status == 0 && one.output.contains(#""\#(outcome)""#), "\(one)")
            }
            #expect(try await stage.database.psql(left) == "court order, third")
            // Where one may be left by the time of the act, which then lets the deletion go on, it is asked.
            #expect(try await stage.run(["deletion", "request", id, "--confirm=\(id)"]).status == 0)
            for (more, status) in [([], 2), (["--confirm=\(id)"], Int32(6)), (["--hold", audit], 0)] {
                let several = try await stage.run(["user", "release", id] + more)
                #expect(several.status == status, "\(more): \(several)")
            }
            #expect(try await stage.run(["deletion", "cancel", id]).status == 0)
            #expect(try await stage.database.psql(left) == "court order, third")
            #expect(try await stage.run(["user", "release", id, "--all-holds"]).status == 0)
            #expect(try await stage.database.psql(left) == "")
        }
    }

    @Test("Who releases an account is told what else its deletion waits for")
    func releaseUnderOtherBrakes() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            for reason in ["court order", "tax audit"] {
                #expect(try await stage.run(["user", "hold", id, "--reason", reason]).status == 0)
            }
            _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            #expect(try await stage.run(["deletion", "pause", id, "--reason", "x"]).status == 0)
            let request = try await stage.database.psql("select id from accountctl.deletion_requests")
            let first = try await stage.database.psql("select min(id) from accountctl.holds")
            let one = try await stage.run(["user", "release", id, "--hold", first, "--confirm=\(id)"])
            #expect(one.errors.contains("accountctl user release \(id)"), "\(one)")
            #expect(one.errors.contains("accountctl deletion resume \(request)"), "\(one)")
            for run in [["--dry-run"], ["--confirm=\(id)"], []] {
                let all = try await stage.run(["user", "release", id] + run)
                #expect(all.status == 0 && all.errors.contains("accountctl deletion resume \(request)"), "\(all)")
                #expect(!all.errors.contains("legal hold"), "\(all)")
            }
        }
    }

    @Test("A hash key that cannot be read is no reason to make another one")
    func unreadableKey() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let path = stage.path("damaged.key")
            try Data("damaged".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let result = try await AccountctlProcess(
                ["user", "hold", OperatorStage.id(1), "--reason", "x"],
                environment: stage.variables.merging(["ACCOUNTCTL_KEYS_HASH_FILE": path]) { $1 }
            ).result()
            #expect(result.status == 2 && result.errors.contains("cannot be read"), "\(result)")
            #expect(!result.errors.contains("keys new"), "\(result)")
        }
    }

    @Test("Commands that are named act where the one acted that names them")
    func elsewhere() throws {
        var global = GlobalOptions()
        global.setDefaults()
        let text = "go on with: accountctl deletion resume --all; this is accountctl 0.1.0"
        #expect(FollowUp(global).completed(text) == text)
        global.environment = "staging"
        global.config = "my settings.toml"
        #expect(
            FollowUp(global).completed(text)
                == "go on with: accountctl --environment staging --config 'my settings.toml' deletion resume --all; "
                + "this is accountctl 0.1.0"
        )
        // To a shell the accent makes no other character of the quote.
        global.config = "it'\u{301}s.toml"
        #expect(FollowUp(global).completed(text).utf8.contains("--config 'it'\\''\u{301}s.toml' ".utf8))
        global.databaseURL = "postgres://postgres:secret@db.example.com/postgres"
        #expect(!FollowUp(global).completed(text).contains("secret"))
    }

    @Test("What was done is followed by the command that undoes it or goes on, and what was not done is not")
    func next() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            let acts = [
                (["user", "suspend", id, "--reason", "spam", "--yes"], "accountctl user restore \(id)"),
                (["user", "restore", id], "accountctl user suspend \(id) --until 20"),
                (["user", "hold", id, "--reason", "court"], "accountctl user release \(id)"),
                (["user", "release", id], "accountctl user hold \(id) --reason"),
            ]
            for (words, next) in acts {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 0 && !rehearsed.errors.contains(next), "\(words): \(rehearsed)")
                let done = try await stage.run(words)
                #expect(done.status == 0 && done.errors.contains(next), "\(words): \(done)")
                #expect(!done.output.contains("accountctl"))
            }
            let nothing = try await stage.run(["user", "restore", id])
            #expect(nothing.errors.contains("Nothing to do") && !nothing.errors.contains("suspend"), "\(nothing)")
            #expect(try await stage.run(["deletion", "request", id, "--confirm=\(id)"]).status == 0)
            let request = try await stage.database.psql("select id from accountctl.deletion_requests")
            for (word, next) in [("pause", "deletion resume \(request)"), ("cancel", "deletion request \(id)")] {
                let done = try await stage.run(["deletion", word, request])
                #expect(done.status == 0 && done.errors.contains("accountctl " + next), "\(done)")
            }
            let again = try await stage.run(["deletion", "request", request, "--confirm=\(id)"])
            #expect(again.status == 0, "\(again)")
        }
    }

    @Test("What undoes an act names what the act replaced: the hold of several, the end of a suspension")
    func undoNames() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            func undo(_ told: AccountctlProcess.Result) async throws {
                let hint = try #require(told.errors.firstMatch(of: /undo with: accountctl (.+)/), "\(told)")
                let words = hint.1.replacing("WHY", with: "mistake").split(separator: " ").map(String.init)
                let undone = try await stage.run(words + (words[1] == "suspend" ? ["--yes"] : []))
                #expect(undone.status == 0, "\(words): \(undone)")
            }
            #expect(try await stage.run(["user", "hold", id, "--reason", "court"]).status == 0)
            try await undo(try await stage.run(["user", "hold", id, "--reason", "tax"]))
            let holds = "select string_agg(reason, ' ') from accountctl.holds where user_id is not null"
            #expect(try await stage.database.psql(holds) == "court")

            let end = "2061-02-03T04:05:06Z"
            let suspend = ["user", "suspend", id, "--reason", "spam", "--yes"]
            #expect(try await stage.run(suspend + ["--until", end]).status == 0)
            try await undo(try await stage.run(["user", "restore", id]))
            let ban = "select banned_until = '\(end)' from auth.users"
            #expect(try await stage.database.psql(ban) == "t")
            // What took the place of another suspension, a later or a sooner end, gives it back.
            for more in [["--for", "36000d"], ["--for", "1d", "--shorten"]] {
                try await undo(try await stage.run(suspend + more))
                #expect(try await stage.database.psql(ban) == "t", "\(more)")
            }
            // A ban without an end that Supabase could write is told by none.
            try await stage.database.psql("update auth.users set banned_until = 'infinity'")
            #expect(try await !stage.run(["user", "restore", id]).errors.contains("--until"))
            for (more, said) in [
                (["--until", "2001-01-01"], "lies in the past"), (["--until", "9998-01-01"], "36500d"),
                (["--until", "30d"], "--until"), (["--until", end, "--for", "1d"], "exclude each other"),
            ] {
                let refused = try await stage.run(suspend + more)
                #expect(refused.status == 2 && refused.errors.contains(said), "\(more): \(refused)")
            }
        }
    }

    @Test("A column that is accepted for that reason already is unchanged; another reason is another matter")
    func acceptedTwice() async throws {
        try await OperatorStage.with { stage in
            let column = "public.profiles.full_name"
            let accept = ["deletion", "accept", column, "--confirm=\(column)", "--reason"]
            for (words, outcomes) in [
                (accept + ["kept ten years"], ["would_be_done", "done", "unchanged", "unchanged"]),
                (accept + ["kept for good"], ["would_be_done", "done"]),
            ] {
                for (number, outcome) in outcomes.enumerated() {
                    let isRehearsed = number.isMultiple(of: 3)
                    let told = try await stage.run(words + (isRehearsed ? ["--dry-run"] : []) + ["--tsv", "outcome"])
                    #expect(told.status == 0 && told.output == outcome + "\n", "\(words) \(number): \(told)")
                }
            }
            let log = "select count(*) from accountctl.operator_log where action = 'deletion.accept'"
            #expect(try await stage.database.psql(log) == "2")
        }
    }

    @Test("A question names the account as user find does: masked, with its state")
    func questions() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (id, gone) = (OperatorStage.id(1), OperatorStage.id(2))
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                select user_id::uuid, 'app', 'residue', now(), now() + interval '1 month', now()
                from unnest(array['\(id)', '\(gone)']) as user_id;
                insert into accountctl.holds (user_id, reason, placed_by) values ('\(id)', 'court', 'olga');
                delete from auth.users where id = '\(gone)';
                """
            )
            let whole = "(u***@e***.com, deletion_residue)"
            for (words, named) in [
                (["user", "release", id], "\(id) \(whole)"), (["deletion", "request", id], "\(id) \(whole)"),
                (["deletion", "proceed", id, "--without-apple"], whole),
                (["deletion", "proceed", gone, "--without-apple"], "(account gone, residue)"),
                (["user", "release", id, "--dry-run"], whole),
            ] {
                let asked = try await stage.run(words)
                #expect(asked.errors.contains(named), "\(words): \(asked)")
                #expect(!asked.errors.contains("u1@example.com"))
            }
            let typed = try await TerminalSession.run(
                ["user", "suspend", id, "--reason", "spam"],
                environment: stage.variables.merging(["NO_COLOR": "1"]) { $1 },
                typing: "n\n"
            )
            #expect(typed.screen.contains("Suspend \(id) \(whole) until "), "\(typed)")
        }
    }

    @Test("A suspension is not shortened by a later one without a word")
    func shorter() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let words = ["user", "suspend", OperatorStage.id(1), "--reason", "spam", "--yes", "--for"]
            #expect(try await stage.run(words + ["3650d"]).status == 0)
            let refused = try await stage.run(words + ["7d"])
            #expect(refused.status == 6 && refused.errors.contains("--shorten"), "\(refused)")
            #expect(!refused.errors.contains("further notice"), "\(refused)")
            let isLong = "select banned_until > now() + interval '9 years' from auth.users"
            #expect(try await stage.database.psql(isLong) == "t")
            #expect(try await stage.run(words + ["7d", "--shorten"]).status == 0)
            #expect(try await stage.database.psql(isLong) == "f")
        }
    }

    @Test("A suspension ends while dates can be written")
    func longest() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let words = ["user", "suspend", OperatorStage.id(1), "--reason", "spam", "--yes", "--for"]
            for length in ["9999999d", "36501d"] {
                let result = try await stage.run(words + [length])
                #expect(
                    result.status == 2 && result.errors.contains("--for") && result.errors.contains("36500d"),
                    "\(result)"
                )
            }
            #expect(
                try await stage.database.psql("select count(*) from auth.users where banned_until is not null") == "0"
            )
            #expect(try await stage.run(words + ["36500d"]).status == 0)
        }
    }

    @Test("A release that lets a deletion go on asks for the id; another does not ask")
    func release() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (free, id) = (OperatorStage.id(1), OperatorStage.id(2))
            try await stage.database.psql(
                """
                insert into accountctl.holds (user_id, reason, placed_by)
                select user_id::uuid, 'court', 'olga' from unnest(array['\(free)', '\(id)']) as user_id;
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(id)', 'app', 'held', now(), now() + interval '1 month', now())
                """
            )
            #expect(try await stage.run(["user", "release", free]).status == 0)
            let held = "select count(*) from accountctl.holds where user_id = '\(id)'"
            let asked = try await stage.run(["user", "release", id])
            #expect(asked.status == 2 && asked.errors.contains("--confirm=\(id)"), "\(asked)")
            #expect(try await stage.database.psql(held) == "1")
            let rehearsed = try await stage.run(["user", "release", id, "--dry-run"])
            #expect(rehearsed.status == 0 && rehearsed.errors.contains("Would be done"), "\(rehearsed)")
            // Both say what follows.
            for told in [asked, rehearsed] { #expect(told.errors.contains("erases it for good"), "\(told)") }
            let done = try await stage.run(["user", "release", id, "--confirm=\(id)"])
            #expect(done.status == 0 && done.errors.contains("Done: released"), "\(done)")
            #expect(try await stage.database.psql(held) == "0")
            // Nothing is left to ask about.
            let again = try await stage.run(["user", "release", id])
            #expect(again.status == 0 && again.errors.contains("Nothing to do"), "\(again)")
        }
    }

    @Test("What is let go on says what holds it all the same, and by which command that ends")
    func heldAllTheSame() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let id = OperatorStage.id(1)
            @Sendable func run(_ words: [String]) async throws -> AccountctlProcess.Result {
                let result = try await stage.run(words)
                #expect(result.status == 0, "\(words): \(result.errors)")
                return result
            }
            _ = try await run(["deletion", "request", id, "--confirm=\(id)"])
            let request = try await stage.database.psql("select id from accountctl.deletion_requests")
            for words in [["deletion", "pause", id], ["deletion", "resume", id], ["deletion", "retry", id]] {
                #expect(try await !run(words).errors.contains("nothing else holds it"), "\(words)")
            }
            // One that had a fault: without, it would only wait for the end of grace.
            try await stage.database.psql("update accountctl.deletion_requests set failures = 1")
            _ = try await run(["deletion", "pause", "--all", "--reason", "a complaint"])
            _ = try await run(["jobs", "pause", "deletions", "--yes", "--reason", "a storm"])
            _ = try await run(["user", "hold", id, "--reason", "court"])
            _ = try await run(["deletion", "pause", id])
            let brakes = [
                "every deletion is paused, by olga: a complaint; go on with: accountctl deletion resume --all",
                "the queue deletions is paused: a storm; go on with: accountctl jobs resume deletions",
                "the account is under a legal hold; end it with: accountctl user release \(id)",
            ]
            let own = "the request is paused by itself; go on with: accountctl deletion resume \(request)"
            let acts: [(words: [String], isPaused: Bool)] = [
                (["deletion", "retry", id], true),
                (["deletion", "proceed", id, "--without-apple", "--confirm=\(request)"], true),
                (["deletion", "resume", id], false),
            ]
            for (words, isPaused) in acts {
                for more in [["--dry-run"], []] {
                    let told = try await run(words + more).errors
                    for brake in brakes { #expect(told.contains(brake), "\(words): \(told)") }
                    #expect(told.contains(own) == isPaused, "\(words): \(told)")
                    #expect(told.contains("once nothing else holds it"), "\(words): \(told)")
                }
            }
            let job = try await stage.database.psql("select id from accountctl.jobs where kind = 'account.delete'")
            for more in [["--dry-run"], []] {
                let told = try await run(["jobs", "retry", job] + more)
                #expect(told.output.contains("once its queue goes on"), "\(told)")
                for brake in brakes.prefix(2) { #expect(told.errors.contains(brake), "\(told)") }
            }
            _ = try await run(["deletion", "pause", id])
            for more in ["--dry-run", "--confirm=all"] {
                let all = try await run(["deletion", "resume", "--all", more]).errors
                #expect(all.contains(brakes[1]) && all.contains("accountctl deletion list --paused"), "\(all)")
                #expect(!all.contains(brakes[0]), "\(all)")
            }
            _ = try await run(["jobs", "resume", "deletions"])
            let other = try await run(["jobs", "retry", job])
            #expect(other.output.contains("runs again") && other.errors.isEmpty, "\(other)")
        }
    }

    @Test("An act says what came of it, in the same words everywhere")
    func outcomes() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (id, other) = (OperatorStage.id(1), OperatorStage.id(2))
            _ = try await stage.run(["deletion", "request", id, "--confirm=\(id)"])
            let request = try await stage.database.psql("select id from accountctl.deletion_requests")
            try await stage.database.psql(
                "insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(other)')"
            )
            try await stage.database.psql("update accountctl.deletion_requests set failures = 1")
            // Each act, what a dry run says, it itself, and it once more.
            let acts: [(words: [String], outcomes: [String])] = [
                (["user", "sign-out", other], ["would_be_done", "done", "unchanged"]),
                (["user", "suspend", other, "--reason", "spam", "--yes"], ["would_be_done", "done", "done"]),
                (["user", "restore", other], ["would_be_done", "done", "unchanged"]),
                (["user", "hold", other, "--reason", "court"], ["would_be_done", "done", "unchanged"]),
                (["user", "release", other], ["would_be_done", "done", "unchanged"]),
                (["deletion", "pause", id], ["would_be_done", "done", "unchanged"]),
                (["deletion", "resume", id], ["would_be_done", "done", "unchanged"]),
                (["deletion", "pause", "--all"], ["would_be_done", "done", "unchanged"]),
                (["deletion", "pause", "--all", "--reason", "x"], ["would_be_done", "done", "unchanged"]),
                (["deletion", "resume", "--all", "--confirm=all"], ["would_be_done", "done", "unchanged"]),
                (["deletion", "retry", id], ["would_be_done", "done", "unchanged"]),
                (
                    ["deletion", "proceed", id, "--without-apple", "--confirm=\(request)"],
                    ["would_be_done", "done", "done"]
                ),
                (["deletion", "cancel", id], ["would_be_done", "done", "refused"]),
                (["deletion", "pause", request], ["refused", "refused", "refused"]),
            ]
            for (words, outcomes) in acts {
                var told: [String] = []
                for more in [["--dry-run"], [], []] {
                    let result = try await stage.run(words + ["--json", "outcome"] + more)
                    let outcome = result.output.firstMatch(of: /"outcome": "(\w+)"/).map { String($0.1) } ?? ""
                    told.append(outcome)
                    #expect(result.status == (outcome == "refused" ? 6 : 0), "\(words): \(result)")
                }
                #expect(told == outcomes, "\(words)")
            }
            // What is not done leaves no line.
            let log = "select count(*) from accountctl.operator_log where action = 'deletion.pause'"
            #expect(try await stage.database.psql(log) == "1")
        }
    }

    @Test("A dry run fires no trigger that may reach outside of the database, and says that it did not ask them")
    func triggersOutside() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (id, leaving) = (OperatorStage.id(1), OperatorStage.id(2))
            let database = stage.database
            // What a sequence counts no rollback takes back, as with a call that was made.
            try await database.psql(
                """
                create extension if not exists dblink schema extensions;
                create sequence public.calls minvalue 0 start 0;
                grant usage on sequence public.calls to public;
                create function public.tell() returns trigger language plpgsql security definer as $$
                begin
                    if false then perform extensions.dblink_exec('', ''); end if;
                    perform nextval('public.calls');
                    return coalesce(new, old);
                end $$;
                create trigger tell_update after update on auth.users for each row execute function public.tell();
                create trigger tell_delete after delete on auth.sessions for each row execute function public.tell();
                insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(id)');
                insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values ('\(leaving)', 'app', 'running', now(), now() + interval '1 month', now());
                update auth.users as u set banned_until = r.locked_out_at + interval '87660 hours'
                from accountctl.deletion_requests as r where r.user_id = u.id;
                alter sequence public.calls restart;
                """
            )
            let acts: [(words: [String], trigger: String)] = [
                (["user", "sign-out", id], "tell_delete"),
                (["user", "suspend", id, "--reason", "spam", "--yes"], "tell_update"),
                (["user", "restore", id], "tell_update"), (["deletion", "cancel", leaving], "tell_update"),
            ]
            var calls = 0
            @Sendable func called() async throws -> Int {
                let count = "select case when is_called then last_value + 1 else last_value end from public.calls"
                return Int(try await database.psql(count)) ?? -1
            }
            for (words, trigger) in acts {
                let rehearsed = try await stage.run(words + ["--dry-run"])
                #expect(rehearsed.status == 0 && rehearsed.errors.lowercased().contains("would be"), "\(rehearsed)")
                #expect(rehearsed.errors.contains(trigger) && rehearsed.errors.contains("not asked"), "\(rehearsed)")
                #expect(try await called() == calls, "\(words)")
                let done = try await stage.run(words)
                #expect(done.status == 0 && !done.errors.contains("not asked"), "\(done)")
                #expect(try await called() > calls, "\(words)")
                calls = try await called()
            }
            // Nothing of Supabase's is written for who is not locked out.
            #expect(try await stage.run(["deletion", "request", id, "--confirm=\(id)"]).status == 0)
            let early = try await stage.run(["deletion", "cancel", id, "--dry-run"])
            #expect(early.status == 0 && !early.errors.contains("not asked"), "\(early)")
            // What would be refused, or is so already, is told without them.
            let idle = try await stage.run(["user", "restore", id, "--dry-run"])
            #expect(idle.status == 0 && idle.errors.contains("Nothing to do"), "\(idle)")
            let gone = try await stage.run(["deletion", "cancel", leaving, "--dry-run"])
            #expect(gone.status == 6, "\(gone)")
            #expect(try await called() == calls)
        }
    }

    @Test("Without a name the log has that of the account on the machine, and a list that is cut says so")
    func names() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            var variables = stage.variables
            variables["ACCOUNTCTL_OPERATOR"] = nil
            for _ in 1...3 {
                let act = try await AccountctlProcess(
                    ["user", "sign-out", OperatorStage.id(1)],
                    environment: variables
                )
                .result()
                #expect(act.status == 0, "\(act.errors)")
            }
            let same = "select bool_and(operator = machine_user) from accountctl.operator_log"
            #expect(try await stage.database.psql(same) == "t")
            let cut = try await stage.run(["audit", "list", "--limit", "2", "--tsv", "id"])
            #expect(cut.output == "3\n2\n" && cut.errors.contains("there are more than 2: raise --limit"), "\(cut)")
            let whole = try await stage.run(["audit", "list", "--limit", "3", "--tsv", "id"])
            #expect(whole.output == "3\n2\n1\n" && whole.errors.isEmpty, "\(whole)")
        }
    }
}
