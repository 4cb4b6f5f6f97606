import Foundation
import TestSupport
import Testing

@Suite("What holds a deletion, and what a release lets go on", .timeLimit(.minutes(5)))
struct OperatorHoldTests {
    @Test("A legal hold is shown wherever the account is, and a late one says what was done before it")
    func holds() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
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
                -- The facts of the step at Apple show that it can no longer be undone.
                insert into accountctl.deletion_steps (request_id, step, runs, started_at, facts)
                select id, step, 1, now() + n * interval '1 second', case step when 'revoke_apple' then '{}'::jsonb end
                from request, unnest(array['lock_out', 'revoke_apple', 'delete_avatars']) with ordinality as s (step, n);
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

    @Test("A hold for one reason is placed once and shown with its deletion; releasing nothing is not logged")
    func oneHold() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            for (reason, said) in [("court", "Done: held."), ("court", "Nothing to do."), ("tax", "Done: held.")] {
                let held = try await stage.run(["user", "hold", id, "--reason", reason])
                #expect(held.status == 0 && held.errors.contains(said), "\(held.errors)")
            }
            let request = try await stage.request(id)
            let third = try await stage.run(["user", "hold", id, "--reason", "third", "--dry-run"])
            #expect(third.errors.contains("until the release; see: accountctl deletion show \(request)"), "\(third)")
            let listed = try await stage.run(["deletion", "list", "--tsv", "state,held"])
            #expect(listed.output == "grace\ttrue\n", "\(listed.errors)")
            let shown = try await stage.run(["deletion", "show", id])
            #expect(shown.output.contains("Legal hold           yes"), "\(shown.output)")
            for strange in ["u1", "'\(id)'", id + ",", "show"] {
                let refused = try await stage.run(["deletion", "show", strange])
                #expect(refused.status == 2 && refused.errors.contains("is not a request id, user id"), "\(refused)")
            }
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

    @Test("Of several legal holds none is released unless the operator says which")
    func severalHolds() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            func hold(_ reason: String, _ more: String...) async throws -> String {
                let held = try await stage.run(["user", "hold", id, "--reason", reason, "--tsv", "hold"] + more)
                #expect(held.status == 0, "\(held)")
                return held.output
            }
            for reason in ["court order", "tax audit", "third"] {
                // Programs get the number that a release has to name; a dry run has none.
                #expect(try await hold(reason, "--dry-run") == "\n")
                let told = try await hold(reason)
                let number = try await stage.database.psql(
                    "select id from accountctl.holds where reason = '\(reason)'"
                )
                #expect(told == "\(number)\n")
                // So do those that find the hold there already, as a script that is run again does.
                for more in [[], ["--dry-run"]] {
                    let again = try await stage.run(["user", "hold", id, "--reason", reason, "--tsv"] + more)
                    #expect(again.output == "\(id)\tunchanged\t\(number)\n", "\(again)")
                }
            }
            let asked = try await stage.run(["user", "release", id])
            #expect(asked.status == 6 && asked.errors.contains("court order"), "\(asked)")
            let left = "select string_agg(reason, ', ' order by id) from accountctl.holds where user_id is not null"
            let audit = try await stage.database.psql("select id from accountctl.holds where reason = 'tax audit'")
            let shown = try await stage.run(["user", "show", id, "--json", "holds"])
            #expect(shown.output.replacing(" ", with: "").contains(#""id":\#(audit),"#), "\(shown)")
            let mistyped = try await stage.run(["user", "release", id, "--hold", audit + "0"])
            #expect(
                mistyped.status == 3 && mistyped.errors.contains("the account has no hold \(audit)0"),
                "\(mistyped)"
            )
            for outcome in ["done", "unchanged"] {
                let one = try await stage.run(["user", "release", id, "--hold", audit, "--json", "outcome"])
                #expect(one.status == 0 && one.output.contains(#""\#(outcome)""#), "\(one)")
            }
            #expect(try await stage.database.psql(left) == "court order, third")
            // Even if a release would let a deletion go on, the refusal comes before any confirmation.
            try await stage.request(id)
            for more in [[], ["--dry-run"], ["--confirm=\(id)"]] {
                let several = try await stage.run(["user", "release", id, "--json", "outcome"] + more)
                #expect(several.status == 6 && several.errors.contains("name one with --hold"), "\(more): \(several)")
                #expect(several.output.contains(#""refused""#) && !several.errors.contains("would ask"), "\(several)")
            }
            #expect(try await stage.run(["user", "release", id, "--hold", audit]).status == 0)
            #expect(try await stage.run(["deletion", "cancel", id]).status == 0)
            #expect(try await stage.database.psql(left) == "court order, third")
            #expect(try await stage.run(["user", "release", id, "--all-holds"]).status == 0)
            #expect(try await stage.database.psql(left) == "")
        }
    }

    @Test("A hold that somebody places while a release of all holds asks stays")
    func heldAgain() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            #expect(try await stage.run(["user", "hold", id, "--reason", "court order"]).status == 0)
            try await stage.request(id)
            let words = ["user", "release", id, "--all-holds"]
            let release = try await TerminalSession.live(words, environment: stage.variables) { person in
                #expect(try await person.waits(for: "Type \(id)"), "\(person.screen)")
                #expect(try await stage.run(["user", "hold", id, "--reason", "tax audit"]).status == 0)
                try person.type(id + "\n")
            }
            #expect(release.status == 0 && release.screen.contains("is under a legal hold"), "\(release)")
            let left = "select string_agg(reason, ', ') from accountctl.holds where user_id is not null"
            #expect(try await stage.database.psql(left) == "tax audit")
        }
    }

    @Test("A release says what else the deletion of the account still waits for")
    func releaseUnderOtherBrakes() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            for reason in ["court order", "tax audit"] {
                #expect(try await stage.run(["user", "hold", id, "--reason", reason]).status == 0)
            }
            let request = try await stage.request(id)
            #expect(try await stage.run(["deletion", "pause", id, "--reason", "x"]).status == 0)
            let first = try await stage.database.psql("select min(id) from accountctl.holds")
            // The other hold still stops the deletion, so the release needs no confirmation.
            let rehearsed = try await stage.run(["user", "release", id, "--hold", first, "--dry-run"])
            #expect(rehearsed.status == 0 && !rehearsed.errors.contains("would ask"), "\(rehearsed)")
            let one = try await stage.run(["user", "release", id, "--hold", first])
            #expect(one.status == 0, "\(one)")
            let last = try await stage.run(["user", "release", id, "--dry-run"])
            #expect(last.errors.contains("would ask"), "\(last)")
            #expect(one.errors.contains("accountctl user release \(id)"), "\(one)")
            #expect(one.errors.contains("accountctl deletion resume \(request)"), "\(one)")
            for run in [["--dry-run"], ["--confirm=\(id)"], []] {
                let all = try await stage.run(["user", "release", id] + run)
                #expect(all.status == 0 && all.errors.contains("accountctl deletion resume \(request)"), "\(all)")
                #expect(!all.errors.contains("legal hold"), "\(all)")
            }
        }
    }

    @Test("A release that lets a deletion go on asks for the id; any other release does not ask")
    func release() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
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
            // Both say what the release leads to.
            for told in [asked, rehearsed] { #expect(told.errors.contains("erases it for good"), "\(told)") }
            let done = try await stage.run(["user", "release", id, "--confirm=\(id)"])
            #expect(done.status == 0 && done.errors.contains("Done: released"), "\(done)")
            #expect(!done.errors.contains("undo"), "\(done)")
            #expect(try await stage.database.psql(held) == "0")
            // Nothing is left to release, so nothing is asked.
            let again = try await stage.run(["user", "release", id])
            #expect(again.status == 0 && again.errors.contains("Nothing to do"), "\(again)")
        }
    }

    @Test("An act that lets a deletion go on says what still holds it, and which command ends that")
    func heldAllTheSame() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            @Sendable func run(_ words: [String]) async throws -> AccountctlProcess.Result {
                let result = try await stage.run(words)
                #expect(result.status == 0, "\(words): \(result.errors)")
                return result
            }
            let request = try await stage.request(id)
            for words in [["deletion", "pause", id], ["deletion", "resume", id], ["deletion", "retry", id]] {
                #expect(try await !run(words).errors.contains("nothing else holds it"), "\(words)")
            }
            // The request had a fault and waits for Apple: otherwise it would only wait for the end of grace.
            try await stage.database.psql(
                "update accountctl.deletion_requests set failures = 1, state = 'waiting_for_apple'"
            )
            _ = try await run(["deletion", "pause", "--all", "--reason", "a complaint"])
            _ = try await run(["jobs", "pause", "deletions", "--yes", "--reason", "a storm"])
            _ = try await run(["user", "hold", id, "--reason", "court"])
            _ = try await run(["deletion", "pause", id])
            let brakes = [
                "every deletion is paused, by olga: a complaint; resume with: accountctl deletion resume --all",
                "the queue deletions is paused: a storm; resume with: accountctl jobs resume deletions",
                "the account is under a legal hold; end it with: accountctl user release \(id)",
            ]
            let own = "the request itself is paused, by olga; resume with: accountctl deletion resume \(request)"
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
                #expect(told.output.contains("once its queue is resumed"), "\(told)")
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
}
