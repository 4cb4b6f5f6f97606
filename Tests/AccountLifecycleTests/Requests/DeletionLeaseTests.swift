import AccountLifecycle
import Foundation
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

/// Apple and Storage check no fence, so a call starts only if no other worker can be given the request before the call
/// has ended.
@Suite(.timeLimit(.minutes(5))) struct DeletionLeaseTests {
    private struct LeaseEnds: Error {}

    @Test(arguments: [(DeletionStep.revokeApple, Duration.seconds(30)), (.deleteAvatars, .seconds(20))])
    func aCallThatCouldOutlastTheLeaseIsNotMade(_ step: DeletionStep, _ longest: Duration) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let driver = DeletionDriver(stage.services())
            // Apple's test of a client id can double a call's time; each step asks for as much as its own call may
            // take.
            await #expect(throws: LeaseEnds.self) {
                try await driver.drive(request) { if $0 == longest { throw LeaseEnds() } }
            }
            #expect(try await stage.outcome(step, request) == nil)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 3)
            let consent = stage.sandbox.apple.consent(sub: try #require(person.sub), clientID: Stage.clientID)
            if case .ended = consent {
                #expect(step == .deleteAvatars)
            } else {
                #expect(step == .revokeApple)
            }
            // Too short a lease is not a failure of the request: nothing is counted, and the request goes on when there
            // is time.
            #expect(try await stage.situation(request) == nil)
            #expect(try await stage.count("select from accountctl.deletion_requests where failures > 0") == 0)
            #expect(try await driver.drive(request) { _ in } == .ended(.verified))
        }
    }

    /// A worker whose leases are too short never calls; one with enough time takes over, and waits for a slow Storage.
    @Test func aWorkerStepsAsideAndAnotherEndsTheWork() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.delay(.milliseconds(1500)), for: .storageDeleteMany)
            try await stage.work(lease: .seconds(20)) {
                // The account is locked out, and the job then given back for a second at a time, without using up
                // attempts.
                let again = "exists (select from accountctl.deletion_steps where step = 'revoke_apple' and runs > 1)"
                try await stage.database.waitUntil(again, changes: "accountctl.deletion_steps")
                #expect(try await stage.outcome(.lockOut, request) != nil)
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 3)
            #expect(try await stage.count("select from accountctl.jobs where attempt > 0 or crashes > 0") == 0)
            try await stage.work(lease: .seconds(120)) {
                let done = "exists (select from accountctl.deletion_requests where state = 'verified')"
                try await stage.database.waitUntil(done, changes: "accountctl.deletion_requests")
            }
            #expect(try await stage.outcome(.revokeApple, request) == "revoked")
            #expect(try await stage.traces(of: person) == "")
        }
    }
}

extension Stage {
    /// Runs a worker while `body` runs; a worker that dies before ends `body` with its error.
    fileprivate func work(lease: Duration, while body: @escaping @Sendable () async throws -> Void) async throws {
        var registry = JobRegistry()
        try DeletionJobs.register(in: &registry, services: services())
        let worker = try registry.worker(in: pool) { configuration in
            configuration.leaseLifetime = lease
            configuration.pollInterval = .milliseconds(50)
        }
        try await runBeside([worker], run: { try await $0.run() }, body)
    }
}
