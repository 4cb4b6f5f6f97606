import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import accountctl

@Suite("Every act of an operator leaves a line in the log, and reports its outcome", .timeLimit(.minutes(5)))
struct OperatorActTests {
    private func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap { all($0) }
    }

    @Test("Every command that changes something takes the operator, the reason and the ticket")
    func tree() {
        var writers = 0
        for command in all(Accountctl.self) {
            let parts = Mirror(reflecting: command.init()).children.map { String(describing: type(of: $0.value)) }
            guard parts.contains(where: { $0.contains("WriteOptions") || $0.contains("ConfirmOptions") }) else {
                continue
            }
            writers += 1
            // ActOptions hold the same options together with others.
            #expect(parts.contains { $0.contains("ActingOptions") || $0.contains("ActOptions") }, "\(command)")
        }
        #expect(writers > 25)
    }

    @Test("Acts on jobs, streams and columns are logged with who, why and what; a dry run is not logged")
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
                ("jobs.enqueue", ["jobs", "enqueue", "mail.schedule"], "mail.schedule"),
                ("jobs.snooze", ["jobs", "snooze", job, "--for", "2h"], job),
                ("jobs.retry", ["jobs", "retry", job], job),
                ("jobs.discard", ["jobs", "discard", job, "--yes"], job),
                ("jobs.prune", ["jobs", "prune", "--older-than", "30d", "--confirm=1"], "30"),
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
            try await database.psql("update accountctl.deletion_brakes set paused_at = now(), paused_by = 'olga'")
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

    @Test("A hash key that cannot be read is reported without advice to make another one")
    func unreadableKey() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
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

    @Test("Accepting a column again for the same reason changes nothing; for another reason it is a new act")
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

    @Test("Every act reports its outcome in the same words")
    func outcomes() async throws {
        try await OperatorStage.with(accounts: 3) { stage in
            let (id, other, waiting) = (OperatorStage.id(1), OperatorStage.id(2), OperatorStage.id(3))
            let request = try await stage.request(id)
            try await stage.database.psql(
                "insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(other)')"
            )
            try await stage.database.psql("update accountctl.deletion_requests set failures = 1")
            let atApple = try await stage.database.psql(
                "select request_id from accountctl.open_deletion_request('\(waiting)', 'app')"
            )
            try await stage.database.psql(
                "update accountctl.deletion_requests set state = 'waiting_for_apple' where id = '\(atApple)'"
            )
            let jobs = try await stage.database.psql(
                "select accountctl.enqueue_job('test.kind', queue => 'mail') from generate_series(1, 2)"
            ).split(separator: "\n").map(String.init)
            // Each act with the outcomes of a dry run, of the act itself, and of the act once more.
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
                // If nothing is paused, no confirmation is asked for.
                (["deletion", "resume", "--all"], ["unchanged", "unchanged", "unchanged"]),
                (["deletion", "retry", id], ["would_be_done", "done", "unchanged"]),
                (
                    ["deletion", "proceed", waiting, "--without-apple", "--confirm=\(atApple)"],
                    ["would_be_done", "done", "done"]
                ),
                (
                    ["deletion", "proceed", id, "--without-apple", "--confirm=\(request)"],
                    ["refused", "refused", "refused"]
                ),
                (["deletion", "cancel", id], ["would_be_done", "done", "unchanged"]),
                (["deletion", "pause", request], ["refused", "refused", "refused"]),
                (["jobs", "pause", "mail", "--yes"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "resume", "mail"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "limit", "mail", "--count", "5"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "limit", "mail", "--none"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "snooze", jobs[0], "--for", "2h"], ["would_be_done", "done", "done"]),
                (["jobs", "retry", jobs[0]], ["would_be_done", "done", "done"]),
                (["jobs", "cancel", jobs[0], "--yes"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "discard", jobs[1], "--reason", "x", "--yes"], ["would_be_done", "done", "unchanged"]),
                (["jobs", "discard", jobs[0], "--reason", "x", "--yes"], ["refused", "refused", "refused"]),
            ]
            for (words, outcomes) in acts {
                var told: [String] = []
                for more in [["--dry-run"], [], []] {
                    let result = try await stage.run(words + ["--json", "outcome"] + more)
                    let outcome = result.output.firstMatch(of: /"outcome": ?"(\w+)"/).map { String($0.1) } ?? ""
                    told.append(outcome)
                    #expect(result.status == (outcome == "refused" ? 6 : 0), "\(words): \(result)")
                }
                #expect(told == outcomes, "\(words)")
            }
            // An act that changes nothing leaves no line in the log.
            for action in ["deletion.pause", "deletion.resume_all"] {
                let log = "select count(*) from accountctl.operator_log where action = '\(action)'"
                #expect(try await stage.database.psql(log) == "1", "\(action)")
            }
        }
    }

    @Test("Without a name the log has that of the machine's user, and a list that is cut off says so")
    func names() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
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
