import Logging
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Apple's events are handled at once, however rarely a worker looks for jobs.
@Suite(.timeLimit(.minutes(5))) struct EventWakeUpTests {
    @Test func anEventWakesTheWorkers() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await Listener.with(database.configuration, channels: ["accountctl_jobs"], logger: .silent) { events in
                for await event in events {
                    if case .notification = event { return }
                    try await database.withConnection { connection in
                        try await connection.transaction { connection in
                            try CredentialJobs.enqueueHandling(of: 1, on: connection)
                        }
                    }
                }
                Issue.record("nobody was told")
            }
        }
    }
}
