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
}
