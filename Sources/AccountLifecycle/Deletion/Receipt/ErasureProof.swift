/// What an erasure that is verified was searched for, and whether something stayed by decision.
package enum ErasureProof: String, Sendable, Hashable {
    /// Every identifier that the account showed since its deletion was asked for, and none was found.
    case searched
    /// The user id, and of addresses, numbers and provider ids at most what the account showed last: others were not
    /// known any more.
    case userIDOnly = "user_id_only"
    /// Every identifier, and some are left in columns that an operator accepted, or files stayed: of the account in
    /// buckets that may keep them, or of nobody that its profile named.
    case accepted
    /// What ``userIDOnly`` is, and something is left in columns that an operator accepted.
    case userIDOnlyAccepted = "user_id_only_accepted"

    /// The proof of a last search, by how it ended and whether it left something in accepted columns; nil for none.
    init?(_ outcome: String?, leaving isLeft: Bool) {
        switch outcome.flatMap(StepOutcome.init(rawValue:)) {
        case .ok: self = .searched
        case .notVerifiable: self = isLeft ? .userIDOnlyAccepted : .userIDOnly
        case .accepted: self = .accepted
        case .alreadyGone, .nothingFound, .notHeld, .revoked, .pending, .notRevoked, .grantUnknown, nil: return nil
        }
    }
}
