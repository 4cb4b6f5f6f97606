import Postgres

/// How a finished step ended.
package enum StepOutcome: String, Sendable, Hashable, Codable, PostgresDecodable {
    /// The step did what it is for.
    case ok
    /// Somebody or something else had already removed what the step removes.
    case alreadyGone = "already_gone"
    /// There was nothing to do.
    case nothingFound = "nothing_found"
    /// No credential was held: nothing could be revoked, which is not the same as revoked.
    case notHeld = "not_held"
    /// Every credential was revoked at Apple.
    case revoked
    /// A credential could not be revoked yet; revocation is retried apart from the deletion.
    case pending
    /// A credential will not be revoked: it does not belong to the account, or Apple rejects it.
    case notRevoked = "not_revoked"
    /// Apple may have issued a grant, but its answer was lost.
    case grantUnknown = "grant_unknown"
    /// Nothing is left except findings that an operator accepted, the account's files in buckets that may keep them,
    /// and files without an owner that its profile named.
    case accepted
    /// Identifiers were lost with their key, by a soft deletion, or with an account that somebody else deleted: the
    /// search covered only the user id and identifiers collected after the loss.
    case notVerifiable = "not_verifiable"
}

/// Counts and names that a step records; they go into the receipt and contain nothing about the person.
package struct StepFacts: Sendable, Hashable, Codable {
    /// How many things the step dealt with, by a stable name.
    package var counts: [String: Int]?
    /// Columns that hold an identifier, which an operator accepted.
    package var accepted: [Situation.Finding]?
    /// Buckets that may keep objects and were not searched, each with the number of the account's objects left in it.
    package var kept: [String: Int]?
    /// Tables and columns that could not be searched.
    package var unreadable: [SearchCatalog.Unreadable]?
    /// Foreign keys of the app's tables that were followed without an index.
    package var unindexed: [String]?
    /// Triggers, keys and checks that were not tried before the first act that cannot be undone: a trigger may have
    /// external effects that no rollback undoes, or the trial took too long.
    package var untried: [String]?

    init(
        counts: [String: Int]? = nil,
        accepted: [Situation.Finding]? = nil,
        kept: [String: Int]? = nil,
        unreadable: [SearchCatalog.Unreadable]? = nil,
        unindexed: [String]? = nil,
        untried: [String]? = nil
    ) {
        self.counts = counts
        self.accepted = accepted
        self.kept = kept
        self.unreadable = unreadable
        self.unindexed = unindexed
        self.untried = untried
    }
}

/// The result of taking a step.
enum StepResult: Sendable, Hashable {
    /// Done; to be recorded.
    case done(StepOutcome, StepFacts)
    /// Done, and recorded in the same transaction as its effect.
    case recorded
    /// The request stands still in this state until something changes; it is reconsidered after the given time.
    case stopped(DeletionState, Situation, lookAgainAfter: Duration = DeletionMachine.lookAgainAfter)
    /// The attempt failed; it is retried with increasing delays.
    case failed(Situation)
    /// The step found work for an earlier step, or has to start over itself.
    case back(to: DeletionStep)
}
