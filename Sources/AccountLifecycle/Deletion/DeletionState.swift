import Postgres

/// The state of a deletion request.
///
/// The regular course is `requested → grace → running → settling → verified`; in the other states a request stands
/// still or has ended. Only ``verified`` means "done".
package enum DeletionState: String, Sendable, Hashable, Codable, CaseIterable, PostgresDecodable {
    /// Recorded, without a grace period or after it; nothing has been touched yet.
    case requested
    /// Recorded; the account works and the person can cancel until the grace period ends.
    case grace
    /// Stopped on purpose: paused, on legal hold, or beyond the hourly ceiling.
    case held
    /// The database would refuse the delete, or its result could not be verified; nothing has been touched since.
    case blocked
    /// Apple cannot currently be asked to revoke a credential that is held; the account still works.
    case waitingForApple = "waiting_for_apple"
    /// The account is locked out and its data is being removed.
    case running
    /// Everything was removed and verified once; the request waits until no old access token, and no upload URL signed
    /// for one, can be used to write.
    case settling
    /// Identifiers were left behind that the program may not remove.
    case residue
    /// Nothing is left; there is a receipt.
    case verified
    /// Cancelled before anything irreversible was done.
    case cancelled

    /// Whether the request has ended, as verified or as cancelled.
    package var isFinal: Bool { self == .verified || self == .cancelled }
}
