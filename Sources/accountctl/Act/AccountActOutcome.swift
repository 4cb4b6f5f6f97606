import AccountLifecycle

/// The outcome of an act on an account, whichever command performed it.
enum AccountActOutcome: Sendable {
    /// An account was suspended, restored or signed out, or the attempt was refused.
    case acted(AccountDesk.Outcome)
    /// A legal hold was set, or the attempt was refused.
    case holding(DeletionDesk.Holding)
    /// The number of legal holds that were released.
    case released(Int)
    /// The account has several holds and the command named none; the text lists them.
    case severalHolds(String)

    /// The number of the hold that was set now; nil for any other outcome.
    var hold: Int64? {
        switch self {
        case .holding(.held(let hold)), .holding(.heldLate(let hold, _, _)): hold
        case .holding(.unchanged), .holding(.unknownUser), .holding(.notNow), .acted, .released, .severalHolds: nil
        }
    }

    /// The number of sessions that the act ended.
    var endedSessions: Int {
        switch self {
        case .acted(.done(let sessions)), .acted(.suspended(let sessions, _)): sessions
        case .acted(.restored), .acted(.unchanged), .acted(.unknownUser), .acted(.suspendedLonger),
            .acted(.beingErased), .holding, .released, .severalHolds:
            0
        }
    }
}
