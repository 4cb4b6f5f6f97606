import Postgres

/// Which of an account's Apple identities an event is about.
enum EventSubject: Sendable, Hashable {
    /// The identity with this Apple sub, which the account may have unlinked.
    case sub(String)
    /// Any of them: a device names none, and no token of its client id is held.
    case any
    /// One that the account has lost, and whose Apple sub is not known any more.
    case lost

    /// Its Apple sub; nil unless one is meant and known.
    var knownSub: String? {
        if case .sub(let known) = self { known } else { nil }
    }

    /// A condition: whether an Apple sub is the subject's.
    func isMeant(by sub: Statement) -> Statement {
        switch self {
        case .sub(let known): "\(sub) = \(known)"
        case .any: "true"
        case .lost: "false"
        }
    }
}
