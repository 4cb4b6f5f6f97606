package import Logging
package import Postgres

/// Applies migrations to a database, each once, whatever else starts at the same time or dies in between.
///
/// A session takes an advisory lock, then looks at the history, then applies what is missing: each migration in one
/// transaction together with its row of the history, or, where its head says so, as a single statement outside of one
/// with its row written before and after.
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
        var statementTimeout: Duration = .seconds(1800)
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
    let options: Options
    let configuration: ConnectionConfiguration
    let logger: Logger
    let event: @Sendable (MigrationEvent) -> Void

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
    ///   - bundles: the bundles to plan for, nil for those the database wants, or all where it wants none.
    ///   - connection: the database.
    /// - Returns: the plan.
    /// - Throws: ``MigrationError`` `refused` where one that is installed was left out; `PostgresError`.
    package func plan(bundles: [String]? = nil, on connection: isolated Connection) throws -> MigrationPlan {
        try plan(bundles, try MigrationHistory.read(on: connection))
    }

    /// Applies what is missing.
    ///
    /// - Parameters:
    ///   - bundles: the bundles to install; nil for those the database wants, or all where it wants none. One that was
    ///     wanted and of which nothing is installed is given up by leaving it out.
    ///   - connection: a connection of its own without a default deadline for statements.
    /// - Returns: what was applied; nothing when there was nothing to do.
    /// - Throws: ``MigrationError``; `PostgresError` when the connection fails; `CancellationError`. What was applied
    ///   before stays.
    @discardableResult
    package func up(bundles: [String]? = nil, on connection: isolated Connection) async throws -> Report {
        try MigrationSession.check(connection)
        // Nothing to do is the usual case and needs no lock: a migration that is not in the history yet is seen as
        // pending.
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

    /// Records what is there now as what should be there, for changes that were made on purpose.
    ///
    /// It waits for a run that goes on: what that made so far is no change of anybody's, and the run records it at its
    /// end.
    ///
    /// - Parameters:
    ///   - differences: what somebody looked at and accepts.
    ///   - connection: a connection of its own without a default deadline for statements.
    ///   - recording: what is done in the same transaction where it is recorded.
    /// - Returns: whether it was recorded; not when something else differs by now.
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

    /// Does something while no other process migrates.
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
            // Without its connection the lock is gone as well; the first error is the one to tell.
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
        // Kept from the first moment: a run that dies between two bundles still knows that both were wanted.
        try MigrationHistory.choose(bundles, of: set.bundles, on: connection)
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
}
