package import Logging
package import Postgres

extension TestDatabase {
    /// The configuration to connect to this database as the limited role that the product uses.
    package var configuration: ConnectionConfiguration { Self.direct(conninfo) }

    /// The configuration to connect to this database as the superuser.
    package var administratorConfiguration: ConnectionConfiguration { Self.direct(adminConninfo) }

    /// Returns a configuration that declares that no pooler lies in between.
    ///
    /// Detecting a pooler has a time limit of a few seconds, and a busy test machine may stall for longer.
    private static func direct(_ conninfo: String) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(conninfo: conninfo)
        configuration.pooler = .none
        configuration.connectTimeout = .seconds(60)
        return configuration
    }

    /// Gives `body` a pool of connections to this database, as the limited role or as the superuser.
    @discardableResult
    package func withPool<Result: Sendable>(
        asAdministrator: Bool = false,
        maximumConnections: Int = 3,
        sessionSettings: [String: String] = [:],
        cancelGrace: Duration = .seconds(5),
        logger: Logger = .silent,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        var configuration = PoolConfiguration(
            connection: asAdministrator ? administratorConfiguration : configuration
        )
        configuration.connection.sessionSettings = sessionSettings
        configuration.connection.cancelGrace = cancelGrace
        configuration.maximumConnections = maximumConnections
        // A slow machine needs longer than the default to open a hundred connections at once.
        configuration.acquireDeadline = .seconds(120)
        return try await Pool.withPool(configuration, logger: logger, body)
    }

    /// Gives `body` one connection to this database, as the limited role or as the superuser.
    @discardableResult
    package func withConnection<Result: Sendable>(
        asAdministrator: Bool = false,
        logger: Logger = .silent,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let configuration = asAdministrator ? administratorConfiguration : configuration
        return try await Connection.with(configuration, logger: logger, body)
    }
}

extension TestDatabase {
    /// Returns connection keywords that lead to a proxy or another port of 127.0.0.1.
    package func conninfo(port: Int) -> String {
        cluster.conninfo(database: name, port: port)
    }

    /// Gives `body` a connection that leads through a proxy.
    @discardableResult
    package func withConnection<Result: Sendable>(
        through proxy: TCPProxy,
        cancelGrace: Duration = .seconds(5),
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        var configuration = ConnectionConfiguration(conninfo: conninfo(port: proxy.port))
        configuration.cancelGrace = cancelGrace
        let logger = Logger.silent
        return try await Connection.with(configuration, logger: logger, body)
    }
}
