import TestSupport
import Testing

@Suite("The life of a deletion through the commands", .timeLimit(.minutes(5)))
struct DeletionLifeTests {
    @Test("A deletion is requested, paused, resumed and cancelled; a command without effect says why")
    func life() async throws {
        try await ErasureSite.with(accounts: 1) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let foreseen = try await site.deletion(["request", account, "--dry-run"])
            #expect(foreseen.status == 0 && foreseen.output.contains("would_be_requested"), "\(foreseen)")
            #expect(foreseen.errors.contains("accountctl deletion plan \(account)\n"), "\(foreseen)")
            let asked = try await site.deletion(["request", "stays2@example.com", "--confirm=\(account)"])
            #expect(asked.status == 0, "\(asked.errors)")
            #expect(asked.errors.contains("cancel with: accountctl deletion cancel"))
            let again = try await site.deletion(["request", account, "--confirm=\(account)"])
            #expect(again.status == 0)
            #expect(again.errors.contains("an open request already"))
            let rehearsed = try await site.deletion(["request", account, "--dry-run", "--grace", "0"])
            #expect(rehearsed.status == 0 && rehearsed.errors.contains("grace period stays as it was"), "\(rehearsed)")
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
                (["--reason", "a clone"], "would replace operator and reason"),
            ] {
                let again = try await site.deletion(["pause", "--all", "--dry-run"] + words)
                #expect(again.status == 0 && again.errors.contains(said), "\(again)")
                #expect(!again.errors.contains("would pause every deletion"), "\(again)")
            }
            #expect(try await site.deletion(["show", account]).output.contains("everything is"))
            let unasked = try await site.deletion(["resume", "--all"])
            #expect(unasked.status == 2 && unasked.errors.contains("--confirm=all"), "\(unasked.errors)")
            #expect(try await site.deletion(["resume", "--all", "--confirm=all"]).status == 0)
            // The grace period is over, so only the pause stops the erasure.
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
            #expect(early.output == "unchanged\n" && early.errors.contains("the end of the grace period"), "\(early)")
            _ = try await site.database.psql("update accountctl.deletion_requests set failures = 1")
            let retried = try await site.deletion(["retry", account, "--tsv", "outcome"])
            #expect(retried.output == "done\n", "\(retried)")
            // An error that no step records, such as the end of the time limit, is stored with the job.
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
                let late = try await site.deletion([words, account, "--tsv"])
                #expect(late.status == 6 && late.output.hasSuffix("\trefused\tcancelled\n"), "\(words): \(late)")
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
}
