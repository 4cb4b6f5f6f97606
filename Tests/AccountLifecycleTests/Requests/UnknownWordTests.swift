import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// A state that only a later release knows is not reported as "there is no such request".
@Suite struct UnknownWordTests {
    /// A request whose state this release does not know.
    private func with(_ body: @Sendable (Stage, UUID) async throws -> Void) async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            try await stage.sql("alter table accountctl.deletion_requests drop constraint deletion_requests_state")
            try await stage.sql("update accountctl.deletion_requests set state = 'newer'")
            try await body(stage, request)
        }
    }

    /// Expects that an unreadable state is reported as a decoding error.
    private func unreadable(_ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async {
        do {
            try await body()
            Issue.record("it was read", sourceLocation: sourceLocation)
        } catch {
            #expect((error as? PostgresError)?.code == .decoding, "\(error)", sourceLocation: sourceLocation)
        }
    }

    @Test func itsJobStaysAlive() async throws {
        try await with { stage, request in
            var registry = JobRegistry()
            try DeletionJobs.register(in: &registry, services: stage.services())
            try await registry.work(in: stage.pool)
            #expect(try await stage.count("select from accountctl.job_history where outcome = 'discarded'") == 0)
            #expect(try await stage.count("select from accountctl.jobs where attempt > 0 and state = 'scheduled'") == 1)
            await unreadable { _ = try await stage.drive(request) }
        }
    }

    @Test func itIsNotLeftOutOfTheListOfErasures() async throws {
        try await with { stage, _ in
            await unreadable {
                try await stage.pool.withConnection { connection in
                    try ListedErasure.forEach(since: nil, key: stage.vault.hashKey, on: connection) { _ in }
                }
            }
        }
    }

    @Test func anOperatorIsNotToldThatItDoesNotExist() async throws {
        try await with { stage, request in
            await unreadable {
                try await stage.pool.withConnection { connection in
                    let desk = DeletionDesk(Operator(name: "test", hashKey: stage.vault.hashKey))
                    _ = try await desk.pause(request, reason: nil, on: connection)
                }
            }
        }
    }
}
