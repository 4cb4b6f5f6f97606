import Synchronization
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(5))) struct ListenerTests {
    @Test func hearsNotificationsAndComesBackAfterALoss() async throws {
        try await TestDatabase.with(.empty) { database in
            let lines = LogLines()
            try await Listener.with(database.configuration, channels: ["jobs", "Odd \"name\""], logger: lines.logger) {
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
                var loss: PostgresError?
                loop: while let event = await events.next() {
                    switch event {
                    case .lost(let error): loss = loss ?? error
                    case .listening: break loop
                    case .notification, .unavailable: Issue.record("unexpected \(event)")
                    }
                }
                // The state that the server sent.
                #expect(loss?.sqlState == .adminShutdown)
                try await database.psql("notify jobs, 'two'")
                event = await events.next()
                #expect(notification(event) == Notification(channel: "jobs", payload: "two"))
                #expect(lines.all.count { $0.hasPrefix("info the listening connection is open again ") } == 1)
            }
        }
    }

    private func notification(_ event: Listener.Event?) -> Notification? {
        guard case .notification(let notification) = event else { return nil }
        return notification
    }

    /// PgBouncer does this while its server refuses logins: it accepts the client from cached parameters, and closes
    /// the connection at the first statement.
    ///
    /// The log must not fill up with such attempts, which go on for as long as an outage.
    @Test func whoIsLetInAndThrownOutWaitsLongerEachTime() async throws {
        try await RefusingServer.with("08P01", "server login failed", letsIn: true) { server in
            let configuration = ConnectionConfiguration(
                conninfo: "host=127.0.0.1 port=\(server.port) user=a dbname=b"
            )
            let (losses, lines) = (Losses(), LogLines())
            let listening = Task {
                await Listener.run(configuration, channels: ["jobs"], logger: lines.logger) { losses.add($0) }
            }
            try await eventually("five attempts failed") { losses.times.count >= 5 }
            listening.cancel()
            await listening.value
            let times = losses.times
            // Half of each wait (of 100, 200, 400 and 800 ms) is random.
            #expect(times[4] - times[0] >= .milliseconds(750), "\(times[4] - times[0])")
            #expect(times[4] - times[3] >= .milliseconds(400), "\(times[4] - times[3])")
            let told = lines.all.filter { $0.contains(" the listening connection failed ") }
            let shown = told.indices.filter { told[$0].hasPrefix("info ") }
            // Each kind of failure once: how the connection ends may be seen in two ways.
            #expect(told.count >= 5 && shown.first == 0 && shown.count <= 2, "\(told)")
        }
    }

    /// The error of the loss itself does not tell it.
    @Test func itIsLoggedWhyALostConnectionCannotBeOpenedAgain() async throws {
        try await TestDatabase.with(.empty) { database in
            let lines = LogLines()
            try await Listener.with(database.configuration, channels: ["jobs"], logger: lines.logger) { events in
                var events = events.makeAsyncIterator()
                _ = await events.next()
                try await database.cluster.psql("alter database \(database.name) with allow_connections false")
                try await database.cluster.psql(
                    "select pg_terminate_backend(pid) from pg_stat_activity where datname = '\(database.name)'"
                )
                // The loss, and two attempts.
                for _ in 0..<3 { _ = await events.next() }
            }
            let told = lines.all.filter { $0.hasPrefix("info the listening connection failed ") }
            #expect(told.count == 2, "\(told)")
            #expect(told.last?.contains("not currently accepting connections") == true, "\(told)")
        }
    }

    /// Records when a listener lost its connection.
    private final class Losses: Sendable {
        private let all = Mutex<[ContinuousClock.Instant]>([])
        var times: [ContinuousClock.Instant] { all.withLock(\.self) }

        func add(_ event: Listener.Event) {
            guard case .lost = event else { return }
            all.withLock { $0.append(.now) }
        }
    }

    @Test func waitsGrowToTheirMaximumAndAreHalfRandom() {
        let backoff = Listener.Backoff()
        #expect(backoff.wait(afterFailures: 1, random: 1) == .milliseconds(100))
        #expect(backoff.wait(afterFailures: 3, random: 0) == .milliseconds(200))
        #expect(backoff.wait(afterFailures: 100, random: 1) == .seconds(10))
    }
}
