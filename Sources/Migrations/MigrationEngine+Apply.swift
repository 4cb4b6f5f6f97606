import Postgres

extension MigrationEngine {
    /// Applies one in a transaction together with its row of the history.
    func applyInTransaction(_ migration: Migration, on connection: isolated Connection) async throws -> Duration {
        try await withRetries(migration, on: connection) { connection in
            let start = ContinuousClock.now
            try await connection.transaction { connection in
                try setSession(lockTimeout: options.lockTimeout, isLocal: true, on: connection)
                try connection.script(unsafeSQL: migration.sql)
                guard connection.isInTransaction else {
                    throw MigrationError(.failed, "\(migration.fileName) ends its transaction itself")
                }
                let duration = ContinuousClock.now - start
                try MigrationHistory.insert(
                    migration,
                    state: .done,
                    duration: duration,
                    version: options.version,
                    on: connection
                )
            }
            return ContinuousClock.now - start
        }
    }

    /// Applies one that is a single statement outside of a transaction, with its row written before and after.
    func applyAlone(
        _ migration: Migration,
        wasStarted: Bool,
        on connection: isolated Connection
    ) async throws -> Duration {
        guard let statement = SQLText.statements(migration.sql).first else {
            throw MigrationError(.failed, "\(migration.fileName) holds no statement")
        }
        let index = ConcurrentIndex(statement: statement)
        if !wasStarted {
            try MigrationHistory.insert(
                migration,
                state: .started,
                duration: .zero,
                version: options.version,
                on: connection
            )
        }
        let names = settings(lockTimeout: options.lockPatience).keys.sorted()
        let before = try connection.query(
            "select name, current_setting(name, true) from unnest(\(names)::text[]) as name",
            as: (String, String?).self
        )
        var isRepeated = wasStarted
        let duration = try await withRetries(migration, on: connection) { connection in
            let start = ContinuousClock.now
            // A concurrent build waits without making others wait: it may take the patience of all tries in one.
            try setSession(lockTimeout: options.lockPatience, isLocal: false, on: connection)
            var isNeeded = true
            if isRepeated, let index {
                switch try index.state(on: connection) {
                case .missing: break
                // It was finished, only the history did not hear of it.
                case .valid: isNeeded = false
                case .invalid:
                    try index.drop(on: connection)
                    event(.droppedInvalidIndex(name: index.name))
                }
            }
            isRepeated = true
            if isNeeded { try connection.execute(Statement(unsafeSQL: statement)) }
            return ContinuousClock.now - start
        }
        // By name: the session has settings of the connection's own, which RESET would take along.
        try set(before, isLocal: false, on: connection)
        try MigrationHistory.finish(migration, duration: duration, on: connection)
        return duration
    }

    private func setSession(lockTimeout: Duration, isLocal: Bool, on connection: isolated Connection) throws {
        let settings = settings(lockTimeout: lockTimeout).sorted { $0.key < $1.key }
        try set(settings.map { ($0.key, $0.value) }, isLocal: isLocal, on: connection)
    }

    /// What a migration's session is set to.
    private func settings(lockTimeout: Duration) -> [String: String] {
        var settings = options.sessionSettings
        settings["lock_timeout"] = "\(lockTimeout.wholeMilliseconds)"
        settings["statement_timeout"] = "\(options.statementTimeout.wholeMilliseconds)"
        return settings
    }

    /// Makes settings; nil is the value that a session begins with.
    private func set(_ settings: [(String, String?)], isLocal: Bool, on connection: isolated Connection) throws {
        // In one statement: a trip for each would be most of what a small migration takes.
        var calls: Statement = "select"
        for (index, (name, value)) in settings.enumerated() {
            calls += (index == 0 ? " " : ", ") + "set_config(\(name), \(value), \(isLocal))"
        }
        try connection.execute(calls)
    }
}
