import Waiting

extension Permits {
    /// Permits for scans of whole tables, each of which may hold a connection for half an hour: one fewer than the pool
    /// has connections, but at least one.
    ///
    /// The remaining connection is for all other work of the handlers, which needs one only for a moment.
    convenience init(poolOf connections: Int) {
        self.init(total: connections - 1)
    }
}
