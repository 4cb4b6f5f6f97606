import Foundation
import LibPQ
import TestSupport
import Testing

@testable import Postgres

/// The environment of libpq: each test runs in a process of its own, since it is unsafe to change the environment while
/// other threads read it.
@Suite(.timeLimit(.minutes(5))) struct EnvironmentTests {
    @Test func theVariablesOfLibpqCount() async {
        await #expect(processExitsWith: .success) {
            let cluster = try TestCluster.shared()
            setenv("PGHOST", cluster.socket, 1)
            setenv("PGPORT", String(cluster.port), 1)
            setenv("PGUSER", "supabase_admin", 1)
            setenv("PGDATABASE", "template1", 1)
            #expect(try await names(ConnectionConfiguration()) == ["template1", "supabase_admin"])
            // Given parameters take precedence over the environment; a bare name is that of a database.
            #expect(try await names(ConnectionConfiguration(conninfo: "postgres")) == ["postgres", "supabase_admin"])
            #expect(try await names(ConnectionConfiguration(conninfo: "user=postgres")) == ["template1", "postgres"])
        }
    }

    @Test func aServiceIsFoundByItsName() async {
        await #expect(processExitsWith: .success) {
            let cluster = try TestCluster.shared()
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("services-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            let lines = cluster.conninfo(database: "template1", user: "postgres").split(separator: " ")
            try "[accounts]\n\(lines.joined(separator: "\n"))\nkeepalives_idle=77\n".write(
                to: file,
                atomically: true,
                encoding: .utf8
            )
            setenv("PGSERVICEFILE", file.path, 1)
            #expect(
                try await names(ConnectionConfiguration(conninfo: "service=accounts")) == ["template1", "postgres"]
            )
            let unknown = try await PostgresError.expected {
                try await names(ConnectionConfiguration(conninfo: "service=acounts"))
            }
            #expect(unknown.code == .configuration && !unknown.isTransient)
            // Our own fall-backs fill in what the service leaves open.
            setenv("PGSERVICE", "accounts", 1)
            for configuration in [ConnectionConfiguration(), ConnectionConfiguration(conninfo: "service=accounts")] {
                let inForce = try await Connection.with(configuration, logger: .silent) { connection in
                    ["keepalives_idle", "tcp_user_timeout"].map { connection.handle?.parametersInForce()[$0] }
                }
                #expect(inForce == ["77", "60000"])
            }
        }
    }
}

private func names(_ configuration: ConnectionConfiguration) async throws -> [String] {
    try await Connection.with(configuration, logger: .silent) { connection in
        let row = try connection.one("select current_database()::text, current_user::text", as: (String, String).self)
        return [row.0, row.1]
    }
}
