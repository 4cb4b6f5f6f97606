import Postgres

extension MigrationEngine {
    /// Retries a whole migration as long as it fails for lack of a lock; from the second try on, the blockers are
    /// observed.
    ///
    /// `body` receives the time for which a try may wait for a lock.
    func withRetries<Result: Sendable>(
        _ migration: Migration,
        on connection: isolated Connection,
        _ body: (isolated Connection, Duration) async throws -> Result
    ) async throws -> Result {
        let retry = LockRetry(patience: options.lockPatience)
        let start = ContinuousClock.now
        // The blockers seen in the last try in which there were any.
        var blockers: [LockBlocker] = []
        var wait = options.lockTimeout
        var tries = 0
        while true {
            tries += 1
            let watch = LockBlockerWatch(configuration: configuration, logger: logger)
            do {
                // Not twice in a row, since the server does not cancel an autovacuum that prevents a wraparound of
                // transaction ids, and the app's sessions wait behind each try.
                let isLonger = wait == options.lockTimeout && blockers.contains(where: \.isAutovacuum)
                wait = try isLonger ? waitAmidAutovacuum(on: connection) : options.lockTimeout
                if tries == 1 { return try await body(connection, wait) }
                return try await watched(by: watch, on: connection, wait, body)
            } catch let error as PostgresError where Self.isLockFailure(error) {
                if !watch.blockers.isEmpty { blockers = watch.blockers }
                let elapsed = ContinuousClock.now - start
                guard let pause = retry.pause(after: tries, elapsed: elapsed, random: .random(in: 0...1)) else {
                    throw gaveUp(migration, tries: tries, blockers, error)
                }
                event(.blocked(fileName: migration.fileName, by: blockers, pause: pause))
                try await Task.sleep(for: pause)
            } catch let error as PostgresError where error.code == .server {
                throw MigrationError(
                    .failed,
                    "\(migration.fileName) failed: \(error.diagnostics?.message ?? error.description)",
                    hint: error.diagnostics?.hint,
                    underlying: error
                )
            }
        }
    }

    /// How long a try waits for a lock of which an autovacuum is in the way.
    ///
    /// The server cancels it, but only for a session that has waited for `deadlock_timeout`, one second by default.
    /// Shorter tries would wait in vain for as long as it takes.
    private func waitAmidAutovacuum(on connection: isolated Connection) throws -> Duration {
        let milliseconds = try connection.one(
            "select (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000)::bigint",
            as: Int.self
        )
        let timeout = Duration.milliseconds(milliseconds)
        // With an unusually long one, other sessions would wait too long behind this one.
        return timeout <= .seconds(2) ? timeout + options.lockTimeout : options.lockTimeout
    }

    private func watched<Result: Sendable>(
        by watch: LockBlockerWatch,
        on connection: isolated Connection,
        _ wait: Duration,
        _ body: (isolated Connection, Duration) async throws -> Result
    ) async throws -> Result {
        let pid = try connection.one("select pg_backend_pid()", as: Int.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // Not on this connection's thread, where child tasks would run by default: it is blocked waiting for the
            // lock.
            group.addTask(executorPreference: globalConcurrentExecutor) { await watch.watch(pid: pid) }
            defer { group.cancelAll() }
            return try await body(connection, wait)
        }
    }

    /// Whether the error is a lock timeout, a deadlock or a serialization failure: nothing was changed, and a retry may
    /// succeed.
    private static func isLockFailure(_ error: PostgresError) -> Bool {
        error.sqlState == .lockNotAvailable || error.sqlState == .deadlockDetected
            || error.sqlState == .serializationFailure
    }

    private func gaveUp(
        _ migration: Migration,
        tries: Int,
        _ blockers: [LockBlocker],
        _ error: PostgresError
    ) -> MigrationError {
        let names = blockers.map(\.description).joined(separator: "; ")
        return MigrationError(
            .lockTimeout,
            "\(migration.fileName) got no lock in \(tries) tries" + (names.isEmpty ? "" : ", blocked by \(names)"),
            hint: "Nothing of it was applied. End the transaction that blocks, or try again at a quieter time.",
            underlying: error
        )
    }
}
