/// A point in a deletion at which tests can interrupt it.
package enum DeletionPoint: Sendable, Hashable {
    /// Decided, nothing recorded yet.
    case before(DeletionStep)
    /// The beginning is recorded, nothing done yet.
    case begun(DeletionStep)
    /// In the middle of the step: one effect has happened and the next has not.
    case middle(DeletionStep)
    /// Between two acts of the same kind: one batch, part or credential is done and the next is not.
    case between(DeletionStep)
    /// Done; an effect outside the database is not recorded yet.
    case done(DeletionStep)
    /// Recorded.
    case after(DeletionStep)
    /// An authorization code is about to go to Apple.
    case beforeExchange
    /// Apple answered, nothing recorded yet.
    case afterExchange
}

/// Called at each ``DeletionPoint``; throws where a test simulates the death of the process.
package typealias DeletionProbe = @Sendable (DeletionPoint) async throws -> Void
