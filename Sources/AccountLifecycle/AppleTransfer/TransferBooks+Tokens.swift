import Postgres

/// Which tokens a transfer is about.
extension TransferBooks {
    /// A condition: whether the transfer `t` of an account concerns its token of a client id, issued for an Apple sub.
    ///
    /// A Services ID moves with its app, and the sub with both, also where the run named the app alone.
    static func concerns(clientID: Statement, sub: Statement) -> Statement {
        "(t.client_id = \(clientID) or \(sub) in (t.old_sub, t.new_sub))"
    }

    /// A query of when Apple first told the recipient of each transfer about anybody.
    ///
    /// Nothing tells when the app moved, except that it was before that: a token that is older is of the team that the
    /// app left, unless it was obtained between the two. Reads all transfers.
    static let beginnings: Statement = """
        select client_id, target_team, min(updated_at) as told_at
        from accountctl.apple_transfers
        where new_sub is not null
        group by client_id, target_team
        """
}
