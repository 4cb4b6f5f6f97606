import Foundation
import TestSupport
import Testing

@Suite("Finding accounts that are being erased or have been erased", .timeLimit(.minutes(5)))
struct UserFindDeletionTests {
    @Test("Soft deletions, and deletions under way with step and deadline, in words and for programs")
    func states() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            let (rows, _) = try await stage.find([UserFindPeople.hidden, UserFindPeople.anna])
            #expect(rows.map(\.state) == ["soft_deleted", "deletion_running"])
            #expect(rows.last?.step == "delete_rows" && rows.last?.request == UserFindPeople.request)
            let words = try await stage.run(["user", "find", UserFindPeople.anna])
            #expect(words.output.contains("deletion_running"))
            for part in ["2030-02-03", "running, step delete_rows", UserFindPeople.request] {
                #expect(words.errors.contains(part), "\(words.errors)")
            }
            let shown = try await stage.run([
                "user", "show", UserFindPeople.anna, "--json", "state,step,legal_deadline",
            ])
            #expect(shown.output.contains("delete_rows") && shown.output.contains("2030-02-03T04:05:06"))
            // The reason why the deletion does not go on, and the command that explains it.
            try await stage.database.psql(
                """
                update accountctl.deletion_requests
                set state = 'blocked', situation = '{"code": "undecided_bucket", "subject": "scans"}', paused_at = now()
                """
            )
            let still = try await stage.run([
                "user", "show", UserFindPeople.anna, "--json", "situation,subject,paused,warnings",
            ])
            for part in [
                #""situation": "undecided_bucket""#, #""subject": "scans""#, #""paused": true"#,
                "accountctl deletion show \(UserFindPeople.request)", "Its deletion request itself is paused",
            ] { #expect(still.output.contains(part), "\(part): \(still)") }
            // The printed command acts on the environment of the command that printed it.
            let config = stage.path("staging.conf")
            try Data().write(to: URL(fileURLWithPath: config))
            let elsewhere = try await stage.run(["user", "show", UserFindPeople.anna, "--config", config])
            #expect(elsewhere.output.contains("accountctl --config \(config) deletion show"), "\(elsewhere)")
        }
    }

    @Test("An erased account is found by its id, its request and its receipt, with date and number")
    func erased() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-input"]
            #expect(try await AccountctlProcess(words, environment: site.variables).result().status == 0)
            let receipt = try await site.database.psql("select number from accountctl.deletion_receipts")
            let request = try await site.database.psql("select request_id from accountctl.deletion_receipts")
            let ended = "select to_char(finished_at at time zone 'utc', 'YYYY-MM-DD') from accountctl.deletion_requests"
            let day = try await site.database.psql(ended)
            for term in [account, request, receipt, "#" + receipt] {
                let (told, found) = try await (
                    AccountctlProcess(["user", "find", term], environment: site.variables).result(),
                    AccountctlProcess(["user", "find", term, "--format", "ndjson"], environment: site.variables)
                        .result()
                )
                #expect(told.status == 3 && told.output.split(separator: "\n").count <= 1, "\(told.output)")
                #expect(told.errors.contains("erased on \(day)") && told.errors.contains("receipt \(receipt)"))
                #expect(told.errors.hasSuffix("accountctl deletion receipt \(receipt)\n"), "\(told.errors)")
                let rows = try FoundRow.all(in: found)
                #expect(rows.map(\.state) == ["erased"] && rows.first?.receipt == Int(receipt), "\(found.output)")
                #expect(rows.first?.request == request && rows.first?.id == nil)
            }
            let mail = try await AccountctlProcess(["user", "find", "stays2@example.com"], environment: site.variables)
                .result()
            #expect(mail.status == 3 && mail.errors.contains("found by its user id or receipt only"))
            // If somebody's username is the receipt's number, both are listed.
            try await site.database.psql(
                """
                alter table accountctl.deletion_receipts alter column number restart with 4711;
                update accountctl.deletion_receipts set number = default;
                update public.profiles set username = '4711'
                where id = (select id from auth.users where email = 'stays1@example.com')
                """
            )
            let both = try await AccountctlProcess(
                ["user", "find", "4711", "--format", "ndjson"],
                environment: site.variables
            ).result()
            #expect(try FoundRow.all(in: both).map(\.state) == ["active", "erased"], "\(both.output)")
            #expect(both.status == 0 && both.errors.contains("receipt 4711 is that of an account that was erased"))
            // A command acts on neither, since the other may be meant.
            for words in [
                ["user", "suspend", "4711", "--reason", "x", "--yes"], ["user", "show", "4711"],
                ["deletion", "request", "4711", "--confirm=4711", "--no-input"], ["audit", "list", "--user", "4711"],
            ] {
                let refused = try await AccountctlProcess(words, environment: site.variables).result()
                #expect(refused.status == 2 && refused.output.isEmpty, "\(words): \(refused)")
                #expect(
                    refused.errors.contains("names 2 accounts") && refused.errors.contains("(receipt 4711)"),
                    "\(refused)"
                )
                #expect(refused.errors.contains("--by") == (words[0] != "audit"), "\(refused)")
            }
            let meant = try await AccountctlProcess(
                ["user", "show", "4711", "--by", "username"],
                environment: site.variables
            ).result()
            #expect(meant.status == 0, "\(meant)")
        }
    }

    @Test("An account that is gone before its erasure is finished is shown with state, step and deadline")
    func leaving() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let (account, request) = ("3f0e9d8c-0000-4000-8000-000000000001", "4f0e9d8c-0000-4000-8000-000000000002")
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, user_id, origin, state, run_after, legal_deadline, locked_out_at, settle_after
                )
                values ('\(request)', '\(account)', 'app', 'settling', now(), '2030-02-03T04:05:06Z', now(), now());
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                values ('\(request)', 'delete_rows', 1, now() - interval '1 minute'), ('\(request)', 'verify', 1, now())
                """
            )
            let facts = ["2030-02-03", "settling, step verify", request, account, "is gone"]
            for words in [[account], [request], ["--prefix", "3f0e9d8c"], ["--prefix", "4f0e9d", "--by", "request"]] {
                let (rows, result) = try await stage.find(words)
                #expect(result.status == 3, "\(words): \(result.errors)")
                #expect(rows.map(\.state) == ["deletion_settling"] && rows.first?.id == account, "\(result.output)")
                #expect(rows.first?.step == "verify" && rows.first?.request == request, "\(result.output)")
                #expect(rows.first?.matched == [], "\(result.output)")
                for fact in facts { #expect(result.errors.contains(fact), "\(words): \(result.errors)") }
                #expect(!result.errors.contains("Look for parts"), "\(result.errors)")
            }
            for words in [[account, "--by", "request"], [request, "--by", "id"]] {
                let (rows, _) = try await stage.find(words)
                #expect(rows.map(\.state) == ["not_found"], "\(words)")
            }
            for words in [
                ["show", account], ["watch", request], ["export", account, "--dry-run"],
                ["hold", account, "--reason", "court"],
            ] {
                let result = try await stage.run(["user"] + words)
                #expect(result.status == 3 && result.output.isEmpty, "\(words): \(result.output)")
                for fact in facts + ["accountctl deletion show \(request)"] {
                    #expect(result.errors.contains(fact), "\(words): \(result.errors)")
                }
            }
            // An account that exists again is not reported as gone.
            try await stage.database.psql(
                "insert into auth.users (id, email) values ('\(account)', 'back@example.com')"
            )
            let (rows, result) = try await stage.find([account])
            #expect(result.status == 0 && rows.map(\.matched) == [["id"]], "\(result.output)")
        }
    }

    @Test("The start of an erased account's id finds nothing, and a cut list of erased requests says so")
    func erasedStarts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(
                """
                insert into accountctl.deletion_requests (
                    id, subject_hash, subject_key_id, origin, state, run_after, legal_deadline, locked_out_at, finished_at
                )
                select ('a0000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid, sha256(g::text::bytea), 'h1',
                    'app', 'verified', now(), now() + interval '1 month', now(), now()
                from generate_series(1, 3) as g
                """
            )
            for words in [["8d3c2a1e"], ["8d3c2a1e", "--by", "id"], ["8d", "--by", "id"]] {
                let (rows, result) = try await stage.find(["--prefix"] + words)
                #expect(result.status == 3 && rows.map(\.state) == ["unknown"], "\(words): \(result.output)")
                #expect(result.errors.contains("id (erased accounts: whole ids only)"), "\(result.errors)")
                #expect(result.errors.contains("cannot be told") && !result.errors.contains("none was erased"))
            }
            let request = try await stage.find(["--prefix", "8d", "--by", "request"])
            #expect(request.rows.map(\.state) == ["not_found"])
            let cut = try await stage.find(["--prefix", "a", "--by", "request", "--limit", "2"])
            #expect(cut.rows.map(\.state) == ["erased", "erased"], "\(cut.result.output)")
            #expect(cut.result.errors.contains("more than 2 accounts"), "\(cut.result.errors)")
            let all = try await stage.find(["--prefix", "a", "--by", "request", "--limit", "3"])
            #expect(all.rows.count == 3 && !all.result.errors.contains("more than"), "\(all.result.errors)")
        }
    }
}
