import Waiting

extension Permits {
    /// Permits for passes over whole tables, each of which may hold a connection for half an hour: for all connections
    /// of a pool but one, and one at least.
    ///
    /// Everything else that handlers do needs a connection for a moment.
    convenience init(poolOf connections: Int) {
        self.init(total: connections - 1)
    }
}
