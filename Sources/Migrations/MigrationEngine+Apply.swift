import Postgres

extension MigrationEngine {
    /// Applies a migration in one transaction together with its history row.
    func applyInTransaction(_ migration: Migration, on connection: isolated Connection) async throws -> Duration {
        try await withRetries(migration, on: connection) { connection, wait in
            let start = ContinuousClock.now
            try await connection.transaction { connection in
                try setSession(lockTimeout: wait, isLocal: true, on: connection)
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

    /// Applies a single-statement migration outside a transaction; its history row is inserted before and completed
    /// after.
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
        let duration = try await withRetries(migration, on: connection) { connection, _ in
            let start = ContinuousClock.now
            // A concurrent build waits without blocking others, so one try may use the time of all tries.
            try setSession(lockTimeout: options.lockPatience, isLocal: false, on: connection)
            var isNeeded = true
            if isRepeated, let index {
                switch try index.state(on: connection) {
                case .missing: break
                // The build had finished, but the history row was not updated.
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
        // Restored by name: RESET would also discard settings of the connection.
        try set(before, isLocal: false, on: connection)
        try MigrationHistory.finish(migration, duration: duration, on: connection)
        return duration
    }

    private func setSession(lockTimeout: Duration, isLocal: Bool, on connection: isolated Connection) throws {
        let settings = settings(lockTimeout: lockTimeout).sorted { $0.key < $1.key }
        try set(settings.map { ($0.key, $0.value) }, isLocal: isLocal, on: connection)
    }

    /// The session settings for a migration.
    private func settings(lockTimeout: Duration) -> [String: String] {
        var settings = options.sessionSettings
        settings["lock_timeout"] = "\(lockTimeout.wholeMilliseconds)"
        settings["statement_timeout"] = "\(options.statementTimeout.wholeMilliseconds)"
        return settings
    }

    /// Applies settings; nil stands for the session's initial value.
    private func set(_ settings: [(String, String?)], isLocal: Bool, on connection: isolated Connection) throws {
        // One statement for all: one round trip each would take most of a small migration's time.
        var calls: Statement = "select"
        for (index, (name, value)) in settings.enumerated() {
            calls += (index == 0 ? " " : ", ") + "set_config(\(name), \(value), \(isLocal))"
        }
        try connection.execute(calls)
    }
}
