import AccountLifecycle
import Logging
import Postgres
import Sealing
import Settings
import Terminal

extension CommandContext {
    /// Gives `body` a pool of connections to the database that the command line, the settings or the PG* variables
    /// name.
    ///
    /// ```swift
    /// let found = try await context.withDatabase { pool in
    ///     try await pool.withConnection { connection in
    ///         try connection.one("select count(*) from auth.users", as: Int.self)
    ///     }
    /// }
    /// ```
    ///
    /// If no server answers, the call fails at once unless `retriesConnecting` says to retry always.
    func withDatabase<Result: Sendable>(
        retriesConnecting: PoolConfiguration.Retrying = .onceConnected,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        let settings = try settingsForDatabase()
        var configuration = PoolConfiguration(connection: connectionConfiguration(settings))
        configuration.maximumConnections = settings.database.connections
        configuration.retriesConnecting = retriesConnecting
        return try await Pool.withPool(configuration, logger: logger(settings)) { pool in
            // A hash key that is new in a database hashed with others is refused before any question or write.
            if let key = actingKey.take() { try await pool.withConnection { try HashKeyCanary.refuseNew(key, on: $0) } }
            return try await body(pool)
        }
    }

    /// Gives `body` one connection, for commands that run only a few statements.
    func withConnection<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let settings = try settingsForDatabase()
        return try await Connection.with(
            connectionConfiguration(settings),
            logger: logger(settings),
            on: thread
        ) { connection in
            if let key = actingKey.take() { try HashKeyCanary.refuseNew(key, on: connection) }
            return try await body(connection)
        }
    }

    /// The configuration of the connection to the database.
    func connectionConfiguration(_ settings: Settings) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(conninfo: settings.database.url)
        configuration.password = { [database = settings.database] in database.password?.reveal() }
        configuration.statementDeadline = settings.database.statementTimeout
        configuration.allowsPlaintext = settings.database.allowsPlaintext
        // The planner overestimates the cost of the catalog queries and would compile them with JIT, which took longer
        // than everything else together.
        configuration.sessionSettings = ["jit": "off"]
        configuration.pooler =
            switch settings.database.pooler {
            case .detect: .detect
            case .none: .none
            case .transaction: .transaction
            }
        return configuration
    }

    /// The settings, of which only those that a database command needs must be valid: an operator who looks up a user
    /// at night should not be stopped by a wrong setting of the mail checks.
    ///
    /// - Throws: `SettingsError` with the problems of the database, of the log and of the choice of an environment.
    func settingsForDatabase() throws -> Settings {
        if let url = global.databaseURL, ConnectionConfiguration(conninfo: url).holdsSecret, cache.isNew("password") {
            messages.warning(
                "the password in --database-url can be read by everybody on this machine: "
                    + "use PGPASSWORD, a password file or database.password_file"
            )
        }
        let settings = try settings(needing: ["database.", "log."])
        if try !checkedSettings().problems.isEmpty, cache.isNew("problems") {
            messages.warning("other settings have problems: accountctl config check names them")
        }
        return settings
    }
}
