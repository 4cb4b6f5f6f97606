/// The server's own time limits, as settings of a session.
///
/// They end what a vanished client left running, and end a slow statement without the detour of a cancel request.
enum ServerLimits {
    /// Sets the limits of single statements a little below the client's deadline.
    ///
    /// A wait for a lock ends earlier still, so that it is told apart (55P03) from a statement that is slow by itself
    /// (57014). By itself the server looks after its client between statements only: a long one would go on, and keep
    /// its locks, for nobody.
    static func statements(deadline: Duration?) -> [SessionSetting] {
        [
            SessionSetting("statement_timeout", "\(deadline.map { milliseconds($0 * 0.95) } ?? 0)"),
            SessionSetting("lock_timeout", "\(deadline.map { milliseconds($0 * 0.9) } ?? 0)"),
            SessionSetting("client_connection_check_interval", "10s"),
        ]
    }

    /// Ends a transaction whose client does nothing for too long.
    static func idle(limit: Duration?) -> SessionSetting {
        SessionSetting("idle_in_transaction_session_timeout", "\(limit.map(milliseconds) ?? 0)")
    }

    /// At least one, since zero is no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        duration < .seconds(2_000_000) ? max(1, duration.wholeMilliseconds) : 2_000_000_000
    }
}
