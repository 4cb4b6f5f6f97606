import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that become available are begun by a worker with a free slot, with an hour between two polls.
@Suite(.timeLimit(.minutes(5))) struct HandedBackTests {
    private static let kind = JobKind<Note>("test.plain")

    /// The notification of the wake-up came while the job still ran, and there was nothing to claim.
    @Test func aJobThatIsWokenWhileItRunsIsClaimedAgain() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, context in
                try await harness.effect(context)
                guard try await harness.effects() == 1 else { return .completed() }
                let woken: Statement = "select count(*) from accountctl.jobs where run_at > claimed_at"
                try await harness.until { try await harness.count(woken) == 1 }
                return .snooze(until: context.now.addingTimeInterval(3600))
            }
            try await harness.enqueue([Self.kind.job(Note())])
            try await harness.withWorker(registry, { $0.pollInterval = .seconds(3600) }) {
                try await harness.until { try await harness.effects() == 1 }
                try await harness.execute("update accountctl.jobs set run_at = clock_timestamp()")
                try await harness.until { try await harness.unfinished() == 0 }
            }
        }
    }

    /// A claim that was sent before the worker lost all leases is handed back at once, and not by a heartbeat, of which
    /// the next is due in a quarter of an hour.
    @Test func whatIsClaimedTooLateIsHandedBack() async throws {
        try await JobHarness.with { harness in
            let registry = try harness.recording(Self.kind)
            try await harness.database.withPool(maximumConnections: 1, sessionSettings: JobQueue.controlSettings) {
                control in
                let worker = try harness.worker(registry, control: control) {
                    $0.leaseLifetime = .seconds(3600)
                }
                try await harness.withWorker(worker) {
                    try await harness.untilBeaten()
                    try await control.withConnection { _ in
                        try await harness.enqueue([Self.kind.job(Note())])
                        worker.wake()
                        // The claim waits for the connection that is held here.
                        try await harness.until { worker.isClaiming }
                        worker.core.withLock { core in
                            let beat = core.book.beat(now: .now)
                            _ = core.book.disowned(beat)
                        }
                    }
                    try await harness.until { try await harness.finished("completed") == 1 }
                }
            }
            #expect(try await harness.effects() == 1)
            #expect(try await harness.count("select attempt::int from accountctl.job_history") == 1)
        }
    }

    /// This happens whenever one release replaces another.
    @Test func whatAStoppingWorkerHandsBackIsClaimedByOthers() async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(Self.kind) { _, context in
                try await harness.effect(context)
                if try await harness.effects() == 1 { try await Task.sleep(for: .seconds(3600)) }
                return .completed()
            }
            try await harness.enqueue([Self.kind.job(Note())])
            let old = try harness.worker(registry) { $0.pollInterval = .seconds(3600) }
            let running = Task { try await old.run() }
            try await harness.until { try await harness.effects() == 1 }
            let listener = JobListener(harness.database.configuration, logger: harness.logger)
            try await harness.withWorker(registry, listener: listener, { $0.pollInterval = .seconds(3600) }) {
                try await harness.database.waitUntilListening("accountctl_jobs")
                running.cancel()
                try await running.value
                try await harness.until { try await harness.finished("completed") == 1 }
            }
        }
    }

    /// A worker promotes due jobs of all kinds, and notifies the others of those that it does not claim itself: of kinds
    /// that it does not know, or while it makes room for a job that must run alone.
    @Test(arguments: ["test.other", "test.plain"])
    func aJobThatIsDueIsToldToWorkersThatCanClaimIt(_ known: String) async throws {
        try await JobHarness.with { harness in
            let registry = try JobRegistry(JobKind<Note>(known)) { _, _ in .completed() }
            let worker = try harness.worker(registry)
            if known == "test.plain" {
                try await harness.execute(
                    "insert into accountctl.jobs (queue, kind, crashes) values ('default', 'test.plain', 1)"
                )
            }
            try await Listener.with(
                harness.database.configuration,
                channels: ["accountctl_jobs"],
                logger: harness.logger
            ) { events in
                for await event in events {
                    if case .notification = event { return }
                    try await harness.enqueue([Self.kind.job(Note(), runAt: Date(timeIntervalSinceNow: 3600))])
                    try await harness.execute("update accountctl.jobs set run_at = now() where state = 'scheduled'")
                    #expect(try await worker.promoteDue().nextIn == nil)
                }
                Issue.record("nobody was told")
            }
        }
    }
}
