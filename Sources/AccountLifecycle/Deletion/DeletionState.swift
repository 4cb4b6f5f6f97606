import Postgres

/// Where a deletion request stands.
///
/// `requested → grace → running → settling → verified`; the others are ways to stand still or to end. "Done" is said
/// only at ``verified``.
package enum DeletionState: String, Sendable, Hashable, Codable, CaseIterable, PostgresDecodable {
    /// Recorded, without a grace period or past it; nothing was touched yet.
    case requested
    /// Recorded; the account works and the person can cancel until the grace period ends.
    case grace
    /// Stopped on purpose: paused, on legal hold, or beyond the hourly ceiling.
    case held
    /// The database would refuse the delete, or its result could not be checked; nothing was touched since.
    case blocked
    /// A credential is held that Apple cannot be asked to revoke now; the account still works.
    case waitingForApple = "waiting_for_apple"
    /// The account is locked out and its data is being removed.
    case running
    /// Everything was removed and verified once; waits until no old access token, and no upload signed for one, can
    /// write any more.
    case settling
    /// Something was left behind that the program may not remove.
    case residue
    /// Nothing is left; there is a receipt.
    case verified
    /// Called off while nothing irreversible was done.
    case cancelled

    /// Whether the request has ended, one way or the other.
    package var isFinal: Bool { self == .verified || self == .cancelled }
}
