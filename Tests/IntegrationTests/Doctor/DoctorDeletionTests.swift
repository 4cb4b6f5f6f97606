import Foundation
import TestSupport
import Testing

/// What keeps requests from completing.
@Suite("The doctor reports on deletions:", .timeLimit(.minutes(5)))
struct DoctorDeletionTests {
    @Test("paused deletions, deletions that wait for the ceiling, and paused queues")
    func brakes() async throws {
        try await DoctorStage.with { deployment in
            func run(_ words: String...) async throws {
                let result = try await AccountctlProcess(words, environment: deployment.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            try await run("deletion", "pause", "--all", "--reason", "a complaint", "--as", "olga")
            let all = try await deployment.find("deletion.paused", "warning")
            #expect(all.contains("every deletion is paused") && all.contains("by olga"), "\(all)")
            try await deployment.database.psql(
                "update accountctl.deletion_brakes set paused_at = now() - interval '25 hours'"
            )
            #expect(try await deployment.find("deletion.paused", "error").contains("every deletion is paused, for 1 d"))
            // A worker pauses a clone like this: an operator who only ends the pause would erase real people because of
            // the clone.
            try await deployment.database.psql(
                "update accountctl.deletion_brakes set paused_by = 'accountctl worker'"
            )
            let advice = try await deployment.examine().findings.compactMap(\.todo)
            #expect(advice.contains { $0.contains("erasures first: accountctl deletion replay FILE") }, "\(advice)")
            try await run("deletion", "resume", "--all", "--confirm=all")
            try await deployment.database.psql(
                """
                insert into accountctl.deletion_requests (user_id, origin, state, situation, run_after, legal_deadline, paused_at)
                select gen_random_uuid(), 'app', state, situation::jsonb, now(), now() + interval '1 month', paused_at
                from (
                    values
                        ('held', '{"code": "ceiling"}', null::timestamptz), ('held', '{"code": "ceiling"}', null),
                        ('held', '{"code": "legal_hold"}', null), ('held', '{"code": "paused"}', now() - interval '3 days')
                ) as r (state, situation, paused_at)
                """
            )
            let one = try await deployment.find("deletion.paused", "warning")
            #expect(one.contains("1 request is paused") && one.contains("3 d"), "\(one)")
            // The command that the finding names works exactly as printed.
            let todo = try await deployment.examine().findings.first { $0.what == one }?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (deletion list[^;]*) shows/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "situation"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "paused\n", "\(listed)")
            #expect(try await deployment.find("deletion.ceiling", "warning").contains("2 requests"))
            try await run("jobs", "pause", "mail", "--yes", "--reason", "a storm")
            #expect(try await deployment.find("jobs.paused", "warning").contains("the queue mail"))
            // This pause is an error, because authorization codes are valid for five minutes.
            try await run("jobs", "pause", "apple", "--yes")
            #expect(try await deployment.find("jobs.paused", "error").contains("the queue apple"))
        }
    }

    @Test("a clone or a restored backup, until a worker that starts there has paused every deletion")
    func copy() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                update accountctl.settings
                set value = jsonb_set(value, '{database}', '"1.1"')
                where name = 'deletion.used_with'
                """
            )
            let what = try await deployment.find("deletion.copy", "warning")
            #expect(what.contains("the database was 1.1 and is "), "\(what)")
            let worked = try await AccountctlProcess.run(
                "worker",
                "--until-idle",
                environment: deployment.variables
            )
            #expect(worked.status == 0, "\(worked.errors)")
            let codes = try await deployment.examine().findings.map(\.code)
            #expect(codes.contains("deletion.paused") && !codes.contains("deletion.copy"), "\(codes)")
        }
    }

    @Test("stopped requests that go on by themselves, and requests that fail repeatedly")
    func standing() async throws {
        try await DoctorStage.with { deployment in
            func findings(_ changes: String) async throws -> [DoctorFinding] {
                try await deployment.database.psql("update accountctl.deletion_requests set \(changes)")
                return try await deployment.examine().findings.filter {
                    $0.code.hasPrefix("deletion.") && $0.severity != "notice"
                }
            }
            try await deployment.database.psql(
                """
                insert into auth.users (id) values ('\(OperatorStage.id(1))');
                select accountctl.open_deletion_request('\(OperatorStage.id(1))', 'app')
                """
            )
            for (state, time) in [("blocked", "within five minutes"), ("residue", "within the hour")] {
                let found = try await findings("state = '\(state)', locked_out_at = now(), settle_after = now()")
                #expect(found.map(\.code) == ["deletion.\(state)"] && found.map(\.severity) == ["error"], "\(found)")
                let why = found.first?.why ?? ""
                #expect(why.contains("they continue by themselves") && why.contains(time), "\(why)")
            }
            for (state, situation, cause) in [
                (
                    "blocked",
                    """
                    {"code": "blocking_rows", "blockers": [
                        {"code": "blocking_rows", "table": "public.b"}, {"code": "blocking_rows", "table": "public.a"}
                    ]}
                    """, "blocking_rows (public.a, public.b)"
                ),
                ("blocked", #"{"code": "undecided_bucket", "subject": "scans"}"#, "undecided_bucket (scans)"),
                (
                    "residue", #"{"code": "residue", "findings": [{"column": "public.a.note", "count": 1}]}"#,
                    "public.a.note"
                ),
            ] {
                let found = try await findings("state = '\(state)', situation = '\(situation)'")
                #expect(found.map(\.what) == ["1 request in the state \(state): \(cause)"], "\(found)")
            }
            for (failures, time, severity) in [
                (2, "3 hours", nil), (3, "10 minutes", nil), (3, "20 minutes", "warning"), (3, "3 hours", "error"),
            ] {
                let found = try await findings(
                    """
                    state = 'running', failures = \(failures), situation = '{"code": "storage_unusable"}',
                    situation_since = now() - interval '\(time)'
                    """
                )
                #expect(found.map(\.severity) == (severity.map { [$0] } ?? []), "\(time): \(found)")
                #expect(found.allSatisfy { $0.code == "deletion.failing" && $0.what.hasSuffix(": storage_unusable") })
            }
            // The command that the finding names works exactly as printed.
            let todo = try await deployment.examine().findings.first { $0.code == "deletion.failing" }?.todo ?? ""
            let retry = try #require(todo.firstMatch(of: /accountctl (jobs retry .+)/)?.1, "\(todo)")
            let words = retry.split(separator: " ").map(String.init) + ["--tsv", "outcome"]
            let retried = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(retried.status == 0 && retried.output == "done\n", "\(retried)")
        }
    }

    @Test("legal deadlines that are at risk or have passed")
    func deadlines() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion()
            for left in ["3 days", "-1 hour"] {
                try await deployment.database.psql(
                    """
                    update accountctl.deletion_requests
                    set requested_at = now() - interval '40 days', legal_deadline = now() + interval '\(left)'
                    """
                )
                #expect(try await deployment.find("deletion.deadline", "error").contains("legal deadline"))
            }
            // A legal hold must not page the operator every night for as long as it lasts.
            try await deployment.database.psql(
                "insert into accountctl.holds (user_id, reason, placed_by) select id, 'an order', 'olga' from auth.users"
            )
            let (status, held) = try await deployment.examine()
            #expect(status == 0 && !held.contains { $0.code == "deletion.deadline" }, "\(held)")
            #expect(try await deployment.find("deletion.legal_hold", "notice").hasPrefix("1 request in the state"))
        }
    }

    @Test("requests that wait for Apple: a notice, and a warning after a day")
    func withoutApple() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion()
            func waiting(for time: String) async throws -> [DoctorFinding] {
                try await deployment.database.psql(
                    """
                    update accountctl.deletion_requests
                    set state = 'waiting_for_apple', situation = '{"code": "apple_unreachable"}',
                        situation_since = now(), apple_waiting_since = now() - interval '\(time)'
                    """
                )
                return try await deployment.examine().findings.filter { $0.code == "deletion.waiting_for_apple" }
            }
            let early = try await waiting(for: "20 hours")
            #expect(early.map(\.severity) == ["notice"], "\(early)")
            let found = try await waiting(for: "30 hours")
            #expect(found.map(\.severity) == ["warning"], "\(found)")
            #expect(found.first?.what.hasPrefix("1 request waits for Apple, the first for 1 d") == true, "\(found)")
            let todo = found.first?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (deletion list[^;]*) names/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "situation"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "apple_unreachable\n", "\(listed)")
        }
    }
}
