/// The coverage of a verified erasure's last search, and whether something stayed by decision.
package enum ErasureProof: String, Sendable, Hashable {
    /// Every identifier that the account has shown since its deletion was requested, and none was found.
    case searched
    /// The user id, and at most the addresses, numbers and provider ids that the account showed last: others were no
    /// longer known.
    case userIDOnly = "user_id_only"
    /// Every identifier; some are left in columns that an operator accepted, or files stayed: the account's in buckets
    /// that may keep them, or files without an owner that its profile named.
    case accepted
    /// As ``userIDOnly``, and something is left in columns that an operator accepted.
    case userIDOnlyAccepted = "user_id_only_accepted"

    /// The proof by the outcome of the last search and whether it left something in accepted columns; nil for no
    /// search.
    init?(_ outcome: String?, leaving isLeft: Bool) {
        switch outcome.flatMap(StepOutcome.init(rawValue:)) {
        case .ok: self = .searched
        case .notVerifiable: self = isLeft ? .userIDOnlyAccepted : .userIDOnly
        case .accepted: self = .accepted
        case .alreadyGone, .nothingFound, .notHeld, .revoked, .pending, .notRevoked, .grantUnknown, nil: return nil
        }
    }
}
