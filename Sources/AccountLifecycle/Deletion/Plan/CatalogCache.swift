import Postgres
import Synchronization

/// Caches the deletion plan; the catalog is read again when the plan is some seconds old or was wrong.
///
/// The catalog is the same for every account, and reading it costs more than deleting one. A plan that a migration has
/// made out of date does no harm: the database refuses, or the keys by which rows would be deleted are found to be
/// missing, and the plan is read again.
final class CatalogCache: Sendable {
    private static let lifetime = Duration.seconds(10)

    private struct Entry {
        let plan: DeletionPlan
        let readAt: ContinuousClock.Instant
    }

    private let entry = Mutex<Entry?>(nil)

    /// The plan, at most some seconds old; read in a transaction of its own if need be.
    func plan(in pool: Pool) async throws -> DeletionPlan {
        if let known { return known }
        return try await pool.reading { try self.plan(on: $0) }
    }

    /// The plan, at most some seconds old; read in the caller's transaction if need be.
    func plan(on connection: isolated Connection) throws -> DeletionPlan {
        if let known { return known }
        let now = ContinuousClock.now
        let plan = DeletionPlan(try DeletionCatalog.read(on: connection))
        entry.withLock { $0 = Entry(plan: plan, readAt: now) }
        return plan
    }

    private var known: DeletionPlan? {
        let now = ContinuousClock.now
        return entry.withLock { $0.flatMap { now - $0.readAt < Self.lifetime ? $0.plan : nil } }
    }

    /// Makes the next caller read the catalog again.
    func forget() {
        entry.withLock { $0 = nil }
    }
}
