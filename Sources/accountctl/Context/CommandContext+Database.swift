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
    /// That there is no server is told at once, unless it always retries.
    func withDatabase<Result: Sendable>(
        retriesConnecting: PoolConfiguration.Retrying = .onceConnected,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        let settings = try settingsForDatabase()
        var configuration = PoolConfiguration(connection: connectionConfiguration(settings))
        configuration.maximumConnections = settings.database.connections
        configuration.retriesConnecting = retriesConnecting
        return try await Pool.withPool(configuration, logger: logger(settings)) { pool in
            // One that is new beside others is refused before anything is asked or done.
            if let key = actingKey.take() { try await pool.withConnection { try HashKeyCanary.refuseNew(key, on: $0) } }
            return try await body(pool)
        }
    }

    /// Gives `body` one connection, which is what a command of a few statements needs.
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

    /// Where the database is, in the driver's terms.
    func connectionConfiguration(_ settings: Settings) -> ConnectionConfiguration {
        var configuration = ConnectionConfiguration(conninfo: settings.database.url)
        configuration.password = { [database = settings.database] in database.password?.reveal() }
        configuration.statementDeadline = settings.database.statementTimeout
        configuration.allowsPlaintext = settings.database.allowsPlaintext
        // The catalog is asked by statements that look dear to the server and are not: compiling one took longer than
        // all else.
        configuration.sessionSettings = ["jit": "off"]
        configuration.pooler =
            switch settings.database.pooler {
            case .detect: .detect
            case .none: .none
            case .transaction: .transaction
            }
        return configuration
    }

    /// The settings, of which only those that a database command needs have to be right: somebody who looks a user up
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
