import Foundation
import TestSupport
import Testing

@testable import AccountLifecycle
@testable import JobQueue

/// Jobs of a kind that no worker registers would wait for ever.
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

    /// A queue that was paused for a day must not come back with every instant of that day.
    @Test func ofEachPeriodicJobOneAtMostIsUnfinished() throws {
        let periodic = try AccountLifecycle.periodic()
        #expect(periodic.count >= 7)
        for job in periodic { #expect(job.job.uniqueKey == job.name, "\(job.name)") }
    }

    /// An instant of a schedule whose job waits for its next attempt adds none: that one must not wait for longer than
    /// the next instant.
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

    /// What a job's state is, and who is told of it, is the engine's to know.
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
