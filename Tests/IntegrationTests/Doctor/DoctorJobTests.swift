import Foundation
import TestSupport
import Testing

@Suite("The doctor reports on jobs and workers:", .timeLimit(.minutes(5)))
struct DoctorJobTests {
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

    @Test("a job in a queue whose workers do not take its kind from that queue")
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
            // The worker serves this queue, but takes the kind from another queue.
            let misplaced = try await late("mail.check")
            #expect(misplaced.what == "\(waiting), and workers take the kind mail.check only from the queue mail")
            #expect(misplaced.todo == "Add them again in the queue mail, and cancel these: \(list)mail.check")
            // This worker belongs to another program.
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

    @Test("jobs of kinds that no worker knows, apart from other late jobs")
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

    @Test("jobs that wait behind a configured limit, with advice to lift the limit")
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
            let lift = "to remove it: accountctl jobs limit"
            let queue = try await advice(after: "mail", "--count", "1", "--per", "1d")
            #expect(queue.hasSuffix("\(lift) mail --none"), "\(queue)")
            let free = try await advice(after: "mail", "--none")
            #expect(!free.contains("jobs limit"), "\(free)")
            let kind = try await advice(after: "--kind", "mail.schedule", "--running", "1")
            #expect(kind.hasSuffix("\(lift) --kind mail.schedule --none"), "\(kind)")
        }
    }

    @Test("a job that no worker could read, which stops a deletion")
    func unreadableJobs() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.requestDeletion()
            // The job has no arguments, as if it had been added by hand.
            try await deployment.database.psql(
                "update accountctl.jobs set args = '{}', state = 'available' where kind = 'account.delete'"
            )
            let worked = try await AccountctlProcess.run("worker", "--until-idle", environment: deployment.variables)
            #expect(worked.status == 0, "\(worked.errors)")
            // A job that waits for room under a limit goes on by itself, and so does a job that an older release has
            // just left to a newer one.
            try await deployment.database.psql(
                """
                insert into accountctl.jobs (queue, kind, limit_key, state, parked_for)
                values ('mail', 'mail.check', 'key', 'parked', 'limit'), ('mail', 'mail.check', null, 'parked', 'newer')
                """
            )
            let what = try await deployment.find("jobs.unreadable", "error")
            #expect(what == "1 job is set aside, since no worker could read its arguments: account.delete")
            // The job has waited for an hour, so no worker of a newer release runs.
            try await deployment.database.psql(
                "update accountctl.jobs set run_at = now() - interval '1 hour' where parked_for = 'newer'"
            )
            let both = try await deployment.find("jobs.unreadable", "error")
            #expect(
                both.hasPrefix("2 jobs are set aside") && both.hasSuffix("account.delete and mail.check"),
                "\(both)"
            )
        }
    }

    @Test("that no worker runs, and jobs that wait too long for a worker")
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
            // A worker that was seen a minute ago is only a warning.
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
            // Several minutes are an error, because authorization codes expire meanwhile. The command line is exactly
            // that of the manifest.
            try await silent(for: "4 minutes")
            #expect(try await deployment.find("workers.alive", "error").contains("the last one was seen"))
            let manifest = try String(
                contentsOfFile: Repository.path("deploy/kubernetes/accountctl.yaml"),
                encoding: .utf8
            )
            let line = try #require(manifest.firstMatch(of: /args: \[(doctor.*)\]/))
            let told = try Document.wholeText()
            #expect(
                told.contains("run `accountctl \(line.1.replacing(",", with: ""))` from cron and check its exit code")
            )
            let words = line.1.replacing(",", with: "").split(separator: " ").map(String.init)
            func exit(_ more: [String]) async throws -> Int32 {
                try await AccountctlProcess(words + more, environment: deployment.variables).result().status
            }
            #expect(try await exit([]) == 1)
            #expect(try await exit(["--expect-worker-within", "6h"]) == 0)
            // Within the expected time, neither the missing worker nor its waiting jobs are findings; after that time
            // both are, and the option is not suggested again.
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
            // A rehearsal that holds a single job does not count as a worker.
            try await deployment.database.psql(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('rehearsal', '1', 1, '{}', '{}', now() + interval '1 hour')
                """
            )
            #expect(try await exit([]) == 1)
        }
    }

    @Test("jobs beyond their usual attempts, with a command that lists only them and a command that retries them")
    func exhausted() async throws {
        try await DoctorStage.with { deployment in
            try await deployment.database.psql(
                """
                select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key => 'tired');
                select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key => 'fresh');
                update accountctl.jobs set exhausted_at = now() where unique_key = 'tired'
                """
            )
            _ = try await deployment.find("jobs.exhausted", "error")
            let todo = try await deployment.examine().findings.first { $0.code == "jobs.exhausted" }?.todo ?? ""
            let hint = try #require(todo.firstMatch(of: /accountctl (jobs list.*) names/), "\(todo)")
            let words = hint.1.split(separator: " ").map(String.init) + ["--tsv", "unique_key"]
            let listed = try await AccountctlProcess(words, environment: deployment.variables).result()
            #expect(listed.output == "tired\n", "\(listed)")
            // The other command that the finding names ends the situation.
            let way = try #require(todo.firstMatch(of: /accountctl (jobs retry .+)/), "\(todo)")
            let retry = way.1.split(separator: " ").map(String.init) + ["--yes"]
            let retried = try await AccountctlProcess(retry, environment: deployment.variables).result()
            #expect(retried.status == 0, "\(retried)")
            #expect(try await !deployment.examine().findings.contains { $0.code == "jobs.exhausted" })
        }
    }

    @Test("kinds of jobs that were given up, unless an operator discarded them or their work was done since")
    func discarded() async throws {
        try await DoctorStage.with { deployment in
            func end(_ kind: String, _ outcome: String, worker: String = "7", _ ago: String = "1 hour") async throws {
                try await deployment.database.psql(
                    """
                    insert into accountctl.job_history (
                        id, lease, worker, finished_at, run_at, created_at, outcome, priority, attempt, crashes,
                        args_version, queue, kind, unique_key, args
                    )
                    values (
                        1, 1, \(worker), now() - interval '\(ago)', now(), now(), '\(outcome)', 5, 20, 0, 1, 'mail', '\(kind)',
                        '\(kind)', '{}'
                    )
                    """
                )
            }
            try await end("mail.check", "discarded", "2 hours")
            try await end("mail.check", "completed")
            try await end("mail.schedule", "discarded", worker: "null")
            try await end("apple.read_inbox", "discarded", "2 days")
            try await end("deletion.upkeep", "discarded")
            let what = try await deployment.find("jobs.discarded", "warning")
            #expect(what == "1 job was given up in the last day: deletion.upkeep")
            try await end("deletion.upkeep", "completed", "1 minute")
            #expect(try await !deployment.examine().findings.contains { $0.code == "jobs.discarded" })
        }
    }
}
