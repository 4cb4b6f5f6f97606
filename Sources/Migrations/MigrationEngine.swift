package import Logging
package import Postgres

/// Applies each migration to a database exactly once, even if other runs start at the same time or a run dies halfway.
///
/// A session takes an advisory lock, reads the history and applies what is missing. Each migration runs in one
/// transaction together with its history row.
package struct MigrationEngine: Sendable {
    /// The settings of the engine.
    package struct Options: Sendable {
        /// How long a statement may wait for a lock before its transaction is rolled back and retried, unless an
        /// autovacuum is in the way.
        package var lockTimeout: Duration = .milliseconds(500)
        /// How long all tries of one migration may take together.
        package var lockPatience: Duration = .seconds(120)
        /// How long to wait for another process that is migrating.
        package var processPatience: Duration = .seconds(300)
        /// How long one statement may run.
        var statementTimeout: Duration = .seconds(1800)
        /// Session settings that migrations read, by name.
        package var sessionSettings: [String: String] = [:]
        /// The version of the program, recorded in the history.
        package var version = "unknown"

        package init() {}
    }

    /// The result of a run.
    package struct Report: Sendable, Equatable {
        /// The files applied, in order.
        package let applied: [String]
        /// The bundles that the database now has.
        package let bundles: [String]
    }

    package let set: MigrationSet
    let options: Options
    let configuration: ConnectionConfiguration
    let logger: Logger
    let event: @Sendable (MigrationEvent) -> Void

    /// Creates an engine.
    ///
    /// - Parameters:
    ///   - set: the migrations.
    ///   - configuration: the database, for connections other than the migrating one.
    ///   - options: the settings of the engine.
    ///   - logger: logs details.
    ///   - event: called for each event, on the connection's thread.
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

    /// The state of each migration; changes nothing.
    ///
    /// - Parameters:
    ///   - bundles: the bundles to plan for; nil for the database's chosen ones, or all if it has none.
    ///   - connection: the database.
    /// - Returns: the plan.
    /// - Throws: ``MigrationError`` `refused` if an installed bundle was left out; `PostgresError`.
    package func plan(bundles: [String]? = nil, on connection: isolated Connection) throws -> MigrationPlan {
        try plan(bundles, try MigrationHistory.read(on: connection))
    }

    /// Applies the pending migrations.
    ///
    /// - Parameters:
    ///   - bundles: the bundles to install; nil for the database's chosen ones, or all if it has none. Leaving out a
    ///     chosen bundle of which nothing is installed removes it from the choice.
    ///   - connection: a dedicated connection without a default deadline for statements.
    /// - Returns: the applied files; empty if there was nothing to do.
    /// - Throws: ``MigrationError``; `PostgresError` if the connection fails; `CancellationError`. Migrations applied
    ///   before the error stay.
    @discardableResult
    package func up(bundles: [String]? = nil, on connection: isolated Connection) async throws -> Report {
        try MigrationSession.check(connection)
        // Nothing to do is the usual case and needs no lock: a migration that another run has not recorded yet appears
        // as pending, which leads to the lock.
        if let found = try MigrationHistory.read(on: connection) {
            let plan = try self.plan(bundles, found)
            if plan.pending.isEmpty, plan.conflicts.isEmpty, plan.bundles == set.bundles.filter(found.bundles.contains),
                try !CatalogSnapshot.isUnfinished(on: connection)
            {
                return Report(applied: [], bundles: plan.bundles)
            }
        }
        return try await underLock(on: connection) { connection in
            try await upUnderLock(bundles, on: connection)
        }
    }

    /// Records the present state as the expected one, for changes that were made on purpose.
    ///
    /// It waits for a run in progress: changes made by that run are not drift, and the run records them at its end.
    ///
    /// - Parameters:
    ///   - differences: the differences that an operator reviewed and accepts.
    ///   - connection: a dedicated connection without a default deadline for statements.
    ///   - recording: work to do in the same transaction as the recording.
    /// - Returns: whether the state was recorded; false if something else differs by now.
    /// - Throws: ``MigrationError``; `PostgresError`; `CancellationError`.
    package func accept(
        _ differences: [CatalogSnapshot.Difference],
        on connection: isolated Connection,
        recording: @Sendable (isolated Connection) throws -> Void = { _ in }
    ) async throws -> Bool {
        try MigrationSession.check(connection)
        return try await underLock(on: connection) { connection in
            try await CatalogSnapshot.accept(differences, on: connection, recording: recording)
        }
    }

    /// Runs `body` while no other process migrates.
    private func underLock<Result>(
        on connection: isolated Connection,
        _ body: (isolated Connection) async throws -> Result
    ) async throws -> Result {
        let lock = MigrationLock(patience: options.processPatience)
        try await lock.acquire(on: connection) { holder in event(.waitingForProcess(holder)) }
        do {
            let result = try await body(connection)
            try lock.release(on: connection)
            return result
        } catch {
            // If the connection is lost, so is the lock; the first error is the one to report.
            try? lock.release(on: connection)
            throw error
        }
    }

    private func plan(_ asked: [String]?, _ found: MigrationHistory.Contents?) throws(MigrationError) -> MigrationPlan {
        let history = found?.rows ?? []
        let chosen = asked ?? found?.bundles ?? []
        let bundles = chosen.isEmpty ? set.bundles : set.bundles.filter(chosen.contains)
        for bundle in set.bundles where !bundles.contains(bundle) {
            let installed = history.filter { $0.bundle == bundle }
            if installed.isEmpty { continue }
            throw MigrationError(
                .refused,
                "\(bundle) cannot be left out, since migrations of it are applied: "
                    + installed.map { String($0.number) }.joined(separator: ", "),
                hint: "Run it without --without-\(bundle): what is missing of it is applied then."
            )
        }
        return MigrationPlan(set: set, history: history, bundles: bundles)
    }

    private func upUnderLock(_ asked: [String]?, on connection: isolated Connection) async throws -> Report {
        let found = try MigrationHistory.read(on: connection)
        let plan = try self.plan(asked, found)
        if let conflict = plan.conflicts.first?.conflict { throw conflict }
        try await refuse(plan, on: connection)
        if found == nil { try await MigrationHistory.create(on: connection) }
        let bundles = plan.bundles
        // Stored first, so that a run that dies between two bundles leaves a record that both were chosen.
        try MigrationHistory.choose(bundles, of: set.bundles, on: connection)
        // A previous run died after it applied migrations; the objects it created are the expected state.
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
            let duration = try await apply(migration, on: connection)
            event(.applied(fileName: migration.fileName, duration: duration))
            applied.append(migration.fileName)
        }
        return applied
    }
}
