import Postgres

extension MigrationEngine {
    /// Applies a migration in one transaction together with its history row.
    func apply(_ migration: Migration, on connection: isolated Connection) async throws -> Duration {
        try await withRetries(migration, on: connection) { connection, wait in
            let start = ContinuousClock.now
            try await connection.transaction { connection in
                try set(lockTimeout: wait, on: connection)
                try connection.script(unsafeSQL: migration.sql)
                guard connection.isInTransaction else {
                    throw MigrationError(.failed, "\(migration.fileName) ends its transaction itself")
                }
                let duration = ContinuousClock.now - start
                try MigrationHistory.insert(migration, duration: duration, version: options.version, on: connection)
            }
            return ContinuousClock.now - start
        }
    }

    /// Makes the settings for a migration, until its transaction ends.
    private func set(lockTimeout: Duration, on connection: isolated Connection) throws {
        var settings = options.sessionSettings
        settings["lock_timeout"] = "\(lockTimeout.wholeMilliseconds)"
        settings["statement_timeout"] = "\(options.statementTimeout.wholeMilliseconds)"
        // One statement for all: one round trip each would take most of a small migration's time.
        var calls: Statement = "select"
        for (index, (name, value)) in settings.sorted(by: { $0.key < $1.key }).enumerated() {
            calls += (index == 0 ? " " : ", ") + "set_config(\(name), \(value), true)"
        }
        try connection.execute(calls)
    }
}
