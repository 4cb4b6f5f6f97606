package import Logging
package import Postgres

/// Applies migrations to a database, each once, whatever else starts at the same time or dies in between.
///
/// A session takes an advisory lock, then looks at the history, then applies what is missing: each migration in one transaction together
/// with its row of the history, or, where its head says so, as a single statement outside of one with its row written before and after.
package struct MigrationEngine: Sendable {
    /// How the engine behaves.
    package struct Options: Sendable {
        /// How long a statement may wait for a lock before its transaction is given up and tried again.
        package var lockTimeout: Duration = .milliseconds(500)
        /// How long all tries of one migration together may take.
        package var lockPatience: Duration = .seconds(120)
        /// How long another process that migrates may take to end.
        package var processPatience: Duration = .seconds(300)
        /// How long one statement may run.
        package var statementTimeout: Duration = .seconds(1800)
        /// Settings of the session that migrations read, by their names.
        package var sessionSettings: [String: String] = [:]
        /// The version of the program, for the history.
        package var version = "unknown"

        package init() {}
    }

    /// What a run did.
    package struct Report: Sendable, Equatable {
        /// The files applied, in order.
        package let applied: [String]
        /// The bundles the database has now.
        package let bundles: [String]
    }

    package let set: MigrationSet
    package let options: Options
    private let configuration: ConnectionConfiguration
    private let logger: Logger
    private let event: @Sendable (MigrationEvent) -> Void

    /// Makes an engine.
    ///
    /// - Parameters:
    ///   - set: the migrations.
    ///   - configuration: where the database is, for connections besides the one that migrates.
    ///   - options: how the engine behaves.
    ///   - logger: where details go.
    ///   - event: is told what happens, on the connection's thread.
    package init(
        set: MigrationSet,
        configuration: ConnectionConfiguration,
        options: Options = Options(),
        logger: Logger,
        event: @escaping @Sendable (MigrationEvent) -> Void = { _ in }
    ) {
        self.set = set
        self.configuration = configuration
        self.options = options
        self.logger = logger
        self.event = event
    }

    /// Where each migration stands; changes nothing.
    ///
    /// - Parameters:
    ///   - bundles: the bundles to plan for, nil for those the database has, or all where it has none.
    ///   - connection: the database.
    /// - Returns: the plan.
    /// - Throws: `PostgresError`.
    package func plan(bundles: [String]? = nil, on connection: isolated Connection) throws -> MigrationPlan {
        let found = try MigrationHistory.read(on: connection)
        return MigrationPlan(set: set, history: found?.rows ?? [], bundles: wanted(bundles, found?.bundles ?? []))
    }

    /// Applies what is missing.
    ///
    /// - Parameters:
    ///   - bundles: the bundles to install besides those the database has; nil for all where it has none.
    ///   - connection: a connection of its own without a default deadline for statements.
    /// - Returns: what was applied; nothing when there was nothing to do.
    /// - Throws: ``MigrationError``; `PostgresError` when the connection fails; `CancellationError`. What was applied before stays.
    @discardableResult
    package func up(bundles: [String]? = nil, on connection: isolated Connection) async throws -> Report {
        try MigrationSession.check(connection)
        // Nothing to do is the usual case and needs no lock: a migration that is not in the history yet is seen as pending.
        if let found = try MigrationHistory.read(on: connection), Set(bundles ?? []).isSubset(of: found.bundles) {
            let plan = MigrationPlan(set: set, history: found.rows, bundles: wanted(bundles, found.bundles))
            if plan.pending.isEmpty, plan.conflicts.isEmpty, try !CatalogSnapshot.isUnfinished(on: connection) {
                return Report(applied: [], bundles: plan.bundles)
            }
        }
        let lock = MigrationLock(patience: options.processPatience)
        try await lock.acquire(on: connection) { holder in event(.waitingForProcess(holder?.description)) }
        do {
            let report = try await upUnderLock(bundles, on: connection)
            try lock.release(on: connection)
            return report
        } catch {
            // Without its connection the lock is gone as well; the first error is the one to tell.
            try? lock.release(on: connection)
            throw error
        }
    }

    private func wanted(_ asked: [String]?, _ present: [String]) -> [String] {
        guard let asked else { return present.isEmpty ? set.bundles : set.bundles.filter { present.contains($0) } }
        return set.bundles.filter { asked.contains($0) || present.contains($0) }
    }

    private func upUnderLock(_ asked: [String]?, on connection: isolated Connection) async throws -> Report {
        var found = try MigrationHistory.read(on: connection)
        if found == nil { try await MigrationHistory.create(on: connection) }
        let bundles = wanted(asked, found?.bundles ?? [])
        let plan = MigrationPlan(set: set, history: found?.rows ?? [], bundles: bundles)
        try refuse(plan.conflicts)
        // Kept from the first moment: a run that dies between two bundles still knows that both were wanted.
        try MigrationHistory.choose(bundles, on: connection)
        found = nil
        // A run that died after it applied something: what it made is what should be there.
        if try CatalogSnapshot.isUnfinished(on: connection) { try await CatalogSnapshot.record(on: connection) }
        guard !plan.pending.isEmpty else { return Report(applied: [], bundles: bundles) }
        let drift = try await CatalogSnapshot.begin(on: connection)
        if !drift.isEmpty { event(.drifted(objects: drift.map(\.object))) }
        let applied = try await apply(plan.pending, on: connection)
        try await CatalogSnapshot.record(on: connection)
        return Report(applied: applied, bundles: bundles)
    }

    private func apply(_ pending: [MigrationPlan.Item], on connection: isolated Connection) async throws -> [String] {
        let byNumber = Dictionary(set.migrations.map { ($0.number, $0) }) { first, _ in first }
        var applied: [String] = []
        for item in pending {
            guard let migration = byNumber[item.number] else { continue }
            event(.started(fileName: migration.fileName))
            let duration =
                migration.isTransactional
                ? try await applyInTransaction(migration, on: connection)
                : try await applyAlone(migration, wasStarted: item.state == .interrupted, on: connection)
            event(.applied(fileName: migration.fileName, duration: duration))
            applied.append(migration.fileName)
        }
        return applied
    }

    private func refuse(_ conflicts: [MigrationPlan.Item]) throws {
        guard let first = conflicts.first else { return }
        let name = "\(first.number) \(first.name)"
        switch first.state {
        case .unknown:
            throw MigrationError(
                .conflict,
                "migration \(name) was applied by a newer version (\(first.applied?.version ?? "unknown")) of this program",
                hint: "Use that version or a later one."
            )
        case .outOfOrder:
            throw MigrationError(
                .conflict,
                "migration \(name) has a lower number than one of its bundle that is applied already"
            )
        default:
            throw MigrationError(
                .conflict,
                "migration \(name) was applied with another text than this program has",
                hint:
                    "Applied migrations are never edited: use the version that applied it (\(first.applied?.version ?? "unknown")), "
                    + "or a database made by this one."
            )
        }
    }

    private func applyInTransaction(_ migration: Migration, on connection: isolated Connection) async throws -> Duration
    {
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

    private func applyAlone(
        _ migration: Migration,
        wasStarted: Bool,
        on connection: isolated Connection
    ) async throws -> Duration {
        let statement = SQLText.statements(migration.sql)[0]
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
        try connection.execute("reset all")
        try MigrationHistory.finish(migration, duration: duration, on: connection)
        return duration
    }

    private func setSession(lockTimeout: Duration, isLocal: Bool, on connection: isolated Connection) throws {
        var settings = options.sessionSettings
        settings["lock_timeout"] = lockTimeout.inMilliseconds
        settings["statement_timeout"] = options.statementTimeout.inMilliseconds
        // In one statement: a trip for each would be most of what a small migration takes.
        var calls: Statement = "select"
        for (index, (name, value)) in settings.sorted(by: { $0.key < $1.key }).enumerated() {
            calls += (index == 0 ? " " : ", ") + "set_config(\(name), \(value), \(isLocal))"
        }
        try connection.execute(calls)
    }

    /// Runs a whole migration again as long as it fails for want of a lock; from the second try on somebody watches who has it.
    private func withRetries<Result: Sendable>(
        _ migration: Migration,
        on connection: isolated Connection,
        _ body: (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let retry = LockRetry(patience: options.lockPatience)
        let start = ContinuousClock.now
        let watch = LockBlockerWatch(configuration: configuration, logger: logger)
        var tries = 0
        while true {
            tries += 1
            do {
                if tries == 1 { return try await body(connection) }
                return try await watched(by: watch, on: connection, body)
            } catch let error as PostgresError where Self.isLockFailure(error) {
                let elapsed = ContinuousClock.now - start
                guard let pause = retry.pause(after: tries, elapsed: elapsed, random: .random(in: 0...1)) else {
                    throw gaveUp(migration, tries: tries, watch.blockers, error)
                }
                event(.blocked(fileName: migration.fileName, by: watch.blockers, pause: pause))
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

    private func watched<Result: Sendable>(
        by watch: LockBlockerWatch,
        on connection: isolated Connection,
        _ body: (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let pid = try connection.one("select pg_backend_pid()", as: Int.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // Not on this connection's thread, which children of a lease would use: it is busy waiting for the lock.
            group.addTask(executorPreference: globalConcurrentExecutor) { await watch.watch(pid: pid) }
            defer { group.cancelAll() }
            return try await body(connection)
        }
    }

    /// No lock in time, a deadlock, or a conflict of serialisable transactions: nothing happened, and it may go well the next time.
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

extension Duration {
    /// As the server's settings take it.
    fileprivate var inMilliseconds: String {
        String(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}
