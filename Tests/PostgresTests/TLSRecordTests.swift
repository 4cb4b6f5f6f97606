import Postgres
import TestSupport
import Testing

/// A peer that sends TLS records of up to 16 kB, as poolers and servers since 17 do.
///
/// libpq reads as much of a record as its buffer has room for. The rest stays in the TLS library, where no readiness of
/// the socket shows it.
@Suite(.timeLimit(.minutes(5))) struct TLSRecordTests {
    @Test func resultsOfLargeRecordsAreReadToTheirEnd() async throws {
        try await withPooler { bouncer, configuration, database in
            try await Connection.with(configuration, logger: .silent) { connection in
                try await database.withConnection(asAdministrator: true) { administrator in
                    for rows in 1...9 {
                        for size in [3500, 4500, 6000, 7500] {
                            let read = try await read(rows, size, connection, bouncer, administrator)
                            #expect(read == Array(repeating: size, count: rows))
                        }
                    }
                }
            }
        }
    }

    /// The whole result is ready before the pooler sees any of it.
    private func read(
        _ rows: Int,
        _ size: Int,
        _ connection: Connection,
        _ bouncer: PgBouncer,
        _ administrator: isolated Connection
    ) async throws -> [Int] {
        try administrator.execute("select pg_advisory_lock(7)")
        let reading = Task {
            try await connection.query(
                "select repeat('x', \(Int32(size))) from pg_advisory_xact_lock(7), generate_series(1, \(rows))",
                as: String.self
            )
        }
        try await administrator.waitUntilSomebodyIsBlocked()
        try await bouncer.paused {
            try administrator.execute("select pg_advisory_unlock(7)")
            try await wait(for: "state = 'idle' and wait_event = 'ClientRead'", administrator)
        }
        return try await reading.value.map(\.utf8.count)
    }

    @Test func notificationsInLargeRecordsAreHeard() async throws {
        try await withPooler { bouncer, configuration, database in
            try await Listener.with(configuration, channels: ["jobs"], logger: .silent) { events in
                var events = events.makeAsyncIterator()
                guard case .listening = await events.next() else {
                    Issue.record("not listening first")
                    return
                }
                for size in stride(from: 3000, to: 7900, by: 350) {
                    try await bouncer.paused {
                        try await database.withConnection(asAdministrator: true) { administrator in
                            try administrator.execute(
                                "select pg_notify('jobs', n || repeat('x', \(Int32(size)))) from generate_series(100, 199) n"
                            )
                            // More than fits between the server and the pooler.
                            try await wait(for: "wait_event = 'ClientWrite'", administrator)
                        }
                    }
                    for number in 100..<200 {
                        guard case .notification(let notification) = await events.next() else {
                            Issue.record("no notification")
                            return
                        }
                        #expect(notification.payload.hasPrefix("\(number)"))
                    }
                }
            }
        }
    }

    private func wait(for condition: String, _ administrator: isolated Connection) async throws {
        let sessions: Statement = """
            select count(*) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and \(unsafeSQL: condition)
            """
        try await eventually("a session has \(condition)", within: .seconds(120), every: .milliseconds(5)) {
            try administrator.one(sessions, as: Int.self) > 0
        }
    }

    private func withPooler(
        _ body: @Sendable (PgBouncer, ConnectionConfiguration, TestDatabase) async throws -> Void
    ) async throws {
        try await TestCertificate.with { certificate in
            let settings = [
                "client_tls_sslmode = require", "client_tls_key_file = \(certificate.key)",
                "client_tls_cert_file = \(certificate.certificate)", "pkt_buf = 65536",
            ]
            try await TestDatabase.with(.empty) { database in
                try await PgBouncer.with(.session, settings: settings, to: database.cluster) { bouncer in
                    var configuration = ConnectionConfiguration(
                        conninfo: bouncer.conninfo(database: database.name) + " sslmode=require"
                    )
                    configuration.pooler = .none
                    configuration.statementDeadline = .seconds(60)
                    try await body(bouncer, configuration, database)
                }
            }
        }
    }
}
