import Foundation
import TestSupport
import Testing

@testable import AccountLifecycle
@testable import JobQueue

/// Workers register every kind of job: a job of any other kind would wait forever.
@Suite struct RegisteredJobsTests {
    @Test func aWorkerWithEverythingRunsEachKindInItsQueue() async throws {
        try await Stage.with { stage in
            let registry = try everything(stage)
            #expect(registry.entries.mapValues(\.queue) == AccountLifecycle.queues)
            #expect(registry.entries.mapValues(\.version) == AccountLifecycle.versions)
            let schedules = try AccountLifecycle.periodic().map(\.name)
            #expect(registry.periodic.map(\.name).sorted() == schedules.sorted())
        }
    }

    /// At most one job of each periodic kind is unfinished: a queue paused for a day must not resume with a job for
    /// every instant of that day.
    @Test func ofEachPeriodicJobOneAtMostIsUnfinished() throws {
        let periodic = try AccountLifecycle.periodic()
        #expect(periodic.count >= 7)
        for job in periodic { #expect(job.job.uniqueKey == job.name, "\(job.name)") }
    }

    /// While a periodic job waits for its retry, its schedule adds no other job, so no retry may be later than the next
    /// instant of the schedule.
    @Test func whatFailedIsBackWithItsSchedule() async throws {
        try await Stage.with { stage in
            let registry = try everything(stage)
            #expect(registry.periodic.count >= 7)
            for periodic in registry.periodic {
                let instants = periodic.schedule.instants(after: 0, through: 3 * 86_400, in: .utc)
                let period = try #require(zip(instants.dropFirst(), instants).map { $0 - $1 }.min())
                let retry = try #require(registry.entries[periodic.job.kind]?.retry)
                #expect(retry.cap * (1 + retry.jitter) <= .seconds(period), "\(periodic.name)")
            }
        }
    }

    private func everything(_ stage: Stage) throws -> JobRegistry {
        let credentials = CredentialServices(
            pool: stage.pool,
            apple: stage.apple,
            keys: stage.vault.keys,
            policy: CredentialPolicy(),
            logger: .silent
        )
        var registry = JobRegistry()
        try AccountLifecycle.registerJobs(
            in: &registry,
            deletions: stage.services(),
            credentials: credentials,
            webSecret: WebSecretCopy { throw CancellationError() },
            mail: MailCheckJob { _ in throw CancellationError() }
        )
        return registry
    }

    /// Only the job engine knows the states of jobs and notifies listeners: no file of this module names its tables or
    /// `pg_notify`.
    @Test func theJobTableIsTheEnginesAlone() throws {
        let files = Repository.swiftFiles(below: "Sources/AccountLifecycle")
        #expect(files.count > 100)
        for file in files {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            for word in ["accountctl.jobs", "accountctl_jobs", "pg_notify"] {
                #expect(!text.contains(word), "\(file) has \(word)")
            }
        }
    }
}
