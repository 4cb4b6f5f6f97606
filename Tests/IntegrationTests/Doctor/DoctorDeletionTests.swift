import Foundation
import TestSupport
import Testing

/// What keeps requests from their end.
@Suite("The doctor finds, of deletions and those who carry them out:", .timeLimit(.minutes(5)))
struct DoctorDeletionTests {
    @Test("a job that waits in a queue which no worker serves")
    func unservedQueue() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job('mail.schedule');
                update accountctl.jobs set run_at = now() - interval '1 hour' where queue = 'default';
                """
            )
            let (_, findings) = try await deployment.examine()
            let finding = try #require(findings.first { $0.code == "jobs.age" }, "\(findings)")
            #expect(
                finding.what
                    == "a job in the queue default has been waiting to run for 1 h, and no worker serves this queue"
            )
            #expect(finding.why?.contains("mail") == true, "\(finding)")
            #expect(
                finding.todo
                    == "Add such jobs where workers take them, mail.schedule in mail, and cancel what waits here: "
                    + "accountctl jobs list --queue default"
            )
        }
    }

    @Test("a job in a queue that is served, by nobody who takes its kind from there")
    func wrongQueue() async throws {
        try await DoctorStage.with { deployment in
            func late(_ kind: String) async throws -> DoctorFinding {
                try await deployment.database.psql(
                    """
                    delete from accountctl.jobs where queue = 'deletions';
                    select accountctl.enqueue_job('\(kind)', queue => 'deletions', run_at => now() - interval '1 hour');
                    """
                )
                let findings = try await deployment.examine().findings.filter { $0.code == "jobs.age" }
                #expect(findings.count == 1, "\(findings)")
                return try #require(findings.first)
            }
            let waiting = "a job in the queue deletions has been waiting to run for 1 h"
            let list = "accountctl jobs list --queue deletions --kind "
            // The worker serves this queue, and knows the kind, though in another.
            let misplaced = try await late("mail.check")
            #expect(misplaced.what == "\(waiting), and workers take the kind mail.check from the queue mail alone")
            #expect(misplaced.todo == "Add them again in the queue mail, and cancel these: \(list)mail.check")
            // Somebody else's worker.
            try await deployment.database.psql(
                """
                insert into accountctl.workers (name, version, expires_at, slots, queues, kinds)
                values ('other', '1', now() + interval '1 hour', 1, '{reports,exports}', '{reports.make}')
                """
            )
            let elsewhere = try await late("reports.make")
            #expect(elsewhere.what == "\(waiting), and no worker that serves it knows the kind reports.make")
            #expect(elsewhere.why == "Workers that know the kind serve exports and reports.")
            #expect(elsewhere.todo?.hasSuffix(list + "reports.make") == true, "\(elsewhere)")
            let behind = try await late("account.delete")
            #expect(behind.what == waiting && behind.todo?.contains("Start more workers") == true, "\(behind)")
        }
    }

    @Test("jobs of this release that the workers have no settings for")
    func unprepared() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                "select accountctl.enqueue_job('apple.read_inbox', queue => 'apple', run_at => now() - interval '1 hour')"
            )
            let (_, findings) = try await deployment.examine()
            let finding = try #require(findings.first { $0.code == "jobs.age" }, "\(findings)")
            #expect(finding.what.hasSuffix("and no worker knows the kind apple.read_inbox"), "\(finding)")
            #expect(finding.why?.contains("[apple]") == true, "\(finding)")
            #expect(finding.todo?.contains("Cancel them") == false, "\(finding)")
        }
    }

    @Test("jobs of kinds that no worker knows, beside others that are late")
    func unknownKinds() async throws {
        try await DoctorStage.with { deployment in
            func examine(_ kinds: String...) async throws -> [DoctorFinding] {
                for kind in kinds {
                    try await deployment.database.psql(
                        "select accountctl.enqueue_job('\(kind)', queue => 'mail', run_at => now() - interval '1 hour')"
                    )
                }
                return try await deployment.examine().findings.filter { $0.code == "jobs.age" }
            }
            let waiting = "a job in the queue mail has been waiting to run for 1 h"
            let one = try await examine("other.kind")
            #expect(one.map(\.what) == ["\(waiting), and no worker knows the kind other.kind"], "\(one)")
            #expect(one.first?.todo?.contains("or start the release that knows the kind") == true, "\(one)")
            #expect(one.first?.todo?.hasSuffix("jobs list --queue mail --kind other.kind") == true, "\(one)")
            let three = try await examine("third.kind", "mail.check")
            #expect(
                three.map(\.what) == ["\(waiting), and no worker knows the kinds other.kind and third.kind", waiting],
                "\(three)"
            )
            #expect(three.first?.todo?.hasSuffix("--kind other.kind --kind third.kind") == true, "\(three)")
        }
    }

    @Test("jobs that wait behind a limit that somebody set, which more workers may not end")
    func limits() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                "select accountctl.enqueue_job('mail.schedule', queue => 'mail', run_at => now() - interval '1 hour')"
            )
            func advice(after words: String...) async throws -> String {
                let result = try await AccountctlProcess(["jobs", "limit"] + words, environment: deployment.variables)
                    .result()
                #expect(result.status == 0, "\(words): \(result.errors)")
                let findings = try await deployment.examine().findings.filter { $0.code == "jobs.age" }
                #expect(findings.count == 1, "\(findings)")
                return findings.first?.todo ?? ""
            }
            let lift = "lift it by: accountctl jobs limit"
            let queue = try await advice(after: "mail", "--count", "1", "--per", "1d")
            #expect(queue.hasSuffix("\(lift) mail --none"), "\(queue)")
            let free = try await advice(after: "mail", "--none")
            #expect(!free.contains("jobs limit"), "\(free)")
            let kind = try await advice(after: "--kind", "mail.schedule", "--running", "1")
            #expect(kind.hasSuffix("\(lift) --kind mail.schedule --none"), "\(kind)")
        }
    }

    @Test("a job that no worker could read, for which a deletion stands still")
    func unreadableJobs() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion()
            // As somebody added it who did not know what it needs.
            try await deployment.database.psql(
                "update accountctl.jobs set args = '{}', state = 'available' where kind = 'account.delete'"
            )
            let worked = try await AccountctlProcess.run("worker", "--until-idle", environment: deployment.variables)
            #expect(worked.status == 0, "\(worked.errors)")
            // One that waits for room under a limit goes on by itself.
            try await deployment.database.psql(
                """
                insert into accountctl.jobs (queue, kind, limit_key, state, parked_for)
                values ('mail', 'mail.check', 'key', 'parked', 'limit')
                """
            )
            let what = try await deployment.find("jobs.unreadable", "error")
            #expect(what == "1 job is set aside, since no worker could read its arguments: account.delete")
        }
    }

    @Test("that no worker is there, and jobs that wait too long for one")
    func workers() async throws {
        try await DoctorStage.with(working: false) { deployment in
            #expect(try await deployment.find("workers.alive", "error").contains("none was ever seen"))
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job(kind => 'mail.check', args => '{"stream": 1}', queue => 'mail');
                update accountctl.jobs set run_at = now() - interval '1 hour';
                """
            )
            #expect(
                try await deployment.find("jobs.age", "warning")
                    == "a job in the queue mail has been waiting to run for 1 h"
            )
            // A worker that was there an hour ago is another matter than none at all.
            let worker = try AccountctlProcess(["worker"], environment: deployment.variables)
            #expect(try await worker.waitForErrors(containing: "worker registered"))
            worker.signal(SIGKILL)
            _ = try await worker.result()
            func silent(for time: String) async throws {
                try await deployment.database.psql(
                    """
                    update accountctl.workers
                    set beat_at = now() - interval '\(time)', expires_at = now() - interval '\(time)' + interval '1 second'
                    """
                )
            }
            try await silent(for: "1 minute")
            #expect(try await deployment.find("workers.alive", "warning").contains("the last one was seen"))
            // Minutes are too long: a code is dead by then. The command line is that of the manifest, to the letter.
            try await silent(for: "4 minutes")
            #expect(try await deployment.find("workers.alive", "error").contains("the last one was seen"))
            let manifest = try String(
                contentsOfFile: Repository.path("deploy/kubernetes/accountctl.yaml"),
                encoding: .utf8
            )
            let line = try #require(manifest.firstMatch(of: /args: \[(doctor.*)\]/))
            let readme = try String(contentsOfFile: Repository.path("README.md"), encoding: .utf8)
            #expect(
                readme.contains("by `accountctl \(line.1.replacing(",", with: ""))` from cron: its exit code tells")
            )
            let words = line.1.replacing(",", with: "").split(separator: " ").map(String.init)
            func exit(_ more: [String]) async throws -> Int32 {
                try await AccountctlProcess(words + more, environment: deployment.variables).result().status
            }
            #expect(try await exit([]) == 1)
            #expect(try await exit(["--expect-worker-within", "6h"]) == 0)
            // Within what was said all is well, of the worker and of what waits for it; beyond, it is not said again.
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job(kind => 'other.kind', queue => 'mail');
                update accountctl.jobs set run_at = now() - interval '1 hour' where kind = 'other.kind';
                """
            )
            func look(_ patience: String) async throws -> [DoctorFinding] {
                let result = try await AccountctlProcess(
                    words + ["--expect-worker-within", patience, "--json", "severity,code,what,why,todo"],
                    environment: deployment.variables
                ).result()
                return try JSONDecoder().decode([DoctorFinding].self, from: Data(result.output.utf8))
            }
            let patient = try await look("6h")
            let alive = try #require(patient.first { $0.code == "workers.alive" }, "\(patient)")
            #expect(alive.severity == "ok" && alive.what.hasPrefix("no worker runs now; the last one"), "\(alive)")
            #expect(!patient.contains { $0.code == "jobs.age" }, "\(patient)")
            let late = try await look("3m")
            let gone = try #require(late.first { $0.code == "workers.alive" }, "\(late)")
            #expect(gone.severity == "error" && gone.todo?.contains("--expect-worker-within") == false, "\(gone)")
            #expect(late.contains { $0.code == "jobs.age" }, "\(late)")
            #expect(try await exit(["--expect-worker-within", "soon"]) == 2)
            // Somebody who holds one job by hand does the work of no worker.
            try await deployment.database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('rehearsal', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            #expect(try await exit([]) == 1)
        }
    }

    @Test("deletions that somebody paused or that wait for the ceiling, and queues that are paused")
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
            // What it names to see them, typed as it stands.
            let todo = try await deployment.examine().findings.first { $0.what == one }?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (deletion list[^;]*) shows/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "situation"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "paused\n", "\(listed)")
            #expect(try await deployment.find("deletion.ceiling", "warning").contains("2 requests"))
            try await run("jobs", "pause", "mail", "--yes", "--reason", "a storm")
            #expect(try await deployment.find("jobs.paused", "warning").contains("the queue mail"))
            // Codes live for five minutes.
            try await run("jobs", "pause", "apple", "--yes")
            #expect(try await deployment.find("jobs.paused", "error").contains("the queue apple"))
        }
    }

    @Test("requests that stand still and go on by themselves, and such as fail again and again")
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
                #expect(why.contains("they go on by themselves") && why.contains(time), "\(why)")
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
        }
    }

    @Test("legal deadlines at risk, and passed")
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
            // A court's order is no reason to be called every night for as long as it lasts.
            try await deployment.database.psql(
                "insert into accountctl.holds (user_id, reason, placed_by) select id, 'an order', 'olga' from auth.users"
            )
            let (status, held) = try await deployment.examine()
            #expect(status == 0 && !held.contains { $0.code == "deletion.deadline" }, "\(held)")
            #expect(try await deployment.find("deletion.legal_hold", "notice").hasPrefix("1 request in the state"))
        }
    }

    @Test("requests that Apple keeps waiting for longer than a day")
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
            #expect(try await waiting(for: "20 hours").isEmpty)
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
