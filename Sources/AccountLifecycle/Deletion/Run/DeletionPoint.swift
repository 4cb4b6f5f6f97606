/// Where a deletion is, for tests that break it there.
package enum DeletionPoint: Sendable, Hashable {
    /// Decided, nothing recorded yet.
    case before(DeletionStep)
    /// Recorded that it begins, nothing done yet.
    case begun(DeletionStep)
    /// In the middle: one effect has happened and the next has not.
    case middle(DeletionStep)
    /// Between two acts of the same kind: a batch, a part, a credential is done and the next is not.
    case between(DeletionStep)
    /// Done, and not recorded yet where the effect lies outside the database.
    case done(DeletionStep)
    /// Recorded.
    case after(DeletionStep)
    /// An authorization code is about to go to Apple.
    case beforeExchange
    /// Apple answered, nothing recorded yet.
    case afterExchange
}

/// Called at each ``DeletionPoint``; throws where a test wants the process to seem to die.
package typealias DeletionProbe = @Sendable (DeletionPoint) async throws -> Void
