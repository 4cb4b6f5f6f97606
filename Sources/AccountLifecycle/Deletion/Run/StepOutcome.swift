import Postgres

/// How a finished step ended.
package enum StepOutcome: String, Sendable, Hashable, Codable, PostgresDecodable {
    /// As meant.
    case ok
    /// Somebody or something had done it before.
    case alreadyGone = "already_gone"
    /// There was nothing to do.
    case nothingFound = "nothing_found"
    /// No credential is held: nothing could be revoked, which is not the same as revoked.
    case notHeld = "not_held"
    /// Every credential was revoked at Apple.
    case revoked
    /// A credential could not be revoked yet and is tried again apart from the deletion.
    case pending
    /// A credential will not be revoked: it is not the account's, or Apple refuses it.
    case notRevoked = "not_revoked"
    /// Apple may have given a grant whose answer was lost.
    case grantUnknown = "grant_unknown"
    /// Nothing is left but what an operator accepted, the account's files in buckets that may keep them, and files of
    /// nobody that its profile named.
    case accepted
    /// Identifiers were lost with their key, by a soft deletion, or with an account that somebody else deleted: only the
    /// user id could be searched for, and what the account showed after the loss.
    case notVerifiable = "not_verifiable"
}

/// Counts and names that a step leaves; they go into the receipt and hold nothing about the person.
package struct StepFacts: Sendable, Hashable, Codable {
    /// How many things the step dealt with, by a stable name.
    package var counts: [String: Int]?
    /// Columns that hold an identifier and were accepted by an operator.
    package var accepted: [Situation.Finding]?
    /// Buckets that may keep objects, which were not searched, and how many of the account's are left in each.
    package var kept: [String: Int]?
    /// What could not be searched.
    package var unreadable: [SearchCatalog.Unreadable]?
    /// Keys that had to be followed without an index.
    package var unindexed: [String]?
    /// Triggers, keys and checks that were not tried before the first act that cannot be undone: a trigger may have
    /// effects outside that no rollback takes back, or trying took too long.
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

/// What came of taking a step.
enum StepResult: Sendable, Hashable {
    /// Done; to be recorded.
    case done(StepOutcome, StepFacts)
    /// Done and recorded in the transaction of its effect.
    case recorded
    /// The request stands still in this state until something changes; looked at again after the time.
    case stopped(DeletionState, Situation, lookAgainAfter: Duration)
    /// Did not work this time; tried again, later each time.
    case failed(Situation)
    /// Found work for an earlier step.
    case back(to: DeletionStep)
}
