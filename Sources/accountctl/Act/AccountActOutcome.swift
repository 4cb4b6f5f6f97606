import AccountLifecycle

/// What came of an act on an account, whoever carried it out.
enum AccountActOutcome: Sendable {
    /// A suspension, its end or a sign-out.
    case acted(AccountDesk.Outcome)
    /// A legal hold.
    case holding(DeletionDesk.Holding)
    /// So many holds were released.
    case released(Int)
    /// Several holds lie on the account, and none was named: in words, which.
    case severalHolds(String)

    /// How many sessions it ended.
    var endedSessions: Int {
        switch self {
        case .acted(.done(let sessions)), .acted(.suspended(let sessions, _)): sessions
        case .acted(.restored), .acted(.unchanged), .acted(.unknownUser), .acted(.suspendedLonger),
            .acted(.beingErased), .holding, .released, .severalHolds:
            0
        }
    }
}
