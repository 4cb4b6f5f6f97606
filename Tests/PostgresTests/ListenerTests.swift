@testable import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ListenerTests {
    @Test func hearsNotificationsAndComesBackAfterALoss() async throws {
        try await TestDatabase.with(.empty) { database in
            try await Listener.with(database.configuration, channels: ["jobs", "Odd \"name\""], logger: .silent) {
                events in
                var events = events.makeAsyncIterator()
                guard case .listening = await events.next() else {
                    Issue.record("not listening first")
                    return
                }
                var event: Listener.Event?
                try await database.psql("notify jobs, 'one'")
                try await database.psql("notify \"Odd \"\"name\"\"\"")
                event = await events.next()
                #expect(notification(event) == Notification(channel: "jobs", payload: "one"))
                event = await events.next()
                #expect(notification(event) == Notification(channel: "Odd \"name\"", payload: ""))
                try await database.psql(
                    "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()"
                )
                var wasLost = false
                loop: while let event = await events.next() {
                    switch event {
                    case .lost: wasLost = true
                    case .listening: break loop
                    case .notification, .unavailable: Issue.record("unexpected \(event)")
                    }
                }
                #expect(wasLost)
                try await database.psql("notify jobs, 'two'")
                event = await events.next()
                #expect(notification(event) == Notification(channel: "jobs", payload: "two"))
            }
        }
    }

    private func notification(_ event: Listener.Event?) -> Notification? {
        guard case .notification(let notification) = event else { return nil }
        return notification
    }

    @Test func waitsGrowToTheirMaximumAndAreHalfRandom() {
        let backoff = Listener.Backoff()
        #expect(backoff.wait(afterFailures: 1, random: 1) == .milliseconds(100))
        #expect(backoff.wait(afterFailures: 3, random: 0) == .milliseconds(200))
        #expect(backoff.wait(afterFailures: 100, random: 1) == .seconds(10))
    }
}
