package import Logging
package import Postgres

extension TestDatabase {
    /// How to connect to this database as the limited role that the product runs as.
    package var configuration: ConnectionConfiguration { ConnectionConfiguration(conninfo: conninfo) }

    /// Gives `body` a pool of connections to this database, as the limited role.
    package func withPool<Result: Sendable>(
        maximumConnections: Int = 3,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        var configuration = PoolConfiguration(connection: configuration)
        configuration.maximumConnections = maximumConnections
        return try await Pool.withPool(configuration, logger: logger, body)
    }

    /// Gives `body` one connection to this database, as the limited role or as the superuser.
    package func withConnection<Result: Sendable>(
        asAdministrator: Bool = false,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let configuration = ConnectionConfiguration(conninfo: asAdministrator ? adminConninfo : conninfo)
        return try await Connection.with(configuration, logger: logger, body)
    }
}

extension TestDatabase {
    /// Waits until a statement whose text contains `part` is running, told by a connection of its own.
    package func waitUntilRunning(_ part: String) async throws {
        try await withConnection(asAdministrator: true) { connection in
            while try connection.one(
                """
                select count(*)
                from pg_stat_activity
                where state = 'active' and query like \("%" + part + "%") and pid <> pg_backend_pid()
                """,
                as: Int.self
            ) == 0 {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}
