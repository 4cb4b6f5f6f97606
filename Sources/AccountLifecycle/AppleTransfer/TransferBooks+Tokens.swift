import Postgres

/// Which tokens a transfer is about.
extension TransferBooks {
    /// A condition: whether the transfer `t` of an account concerns its token of a client id, issued for an Apple sub.
    ///
    /// A Services ID moves with its app, and the sub with both, also where the run named the app alone.
    static func concerns(clientID: Statement, sub: Statement) -> Statement {
        "(t.client_id = \(clientID) or \(sub) in (t.old_sub, t.new_sub))"
    }
}
