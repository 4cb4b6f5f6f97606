/// The server's own time limits, as settings of a session.
///
/// They end statements of a client that has vanished, and end a slow statement without the detour of a cancel request.
enum ServerLimits {
    /// Sets the limits of single statements a little below the client's deadline.
    ///
    /// A wait for a lock ends earlier still, so that it can be distinguished (55P03) from a statement that is itself
    /// slow (57014).
    static func statements(deadline: Duration?) -> [SessionSetting] {
        [
            SessionSetting("statement_timeout", "\(deadline.map { milliseconds($0 * 0.95) } ?? 0)"),
            SessionSetting("lock_timeout", "\(deadline.map { milliseconds($0 * 0.9) } ?? 0)"),
        ]
    }

    /// Ends a transaction whose client is silent for longer than the limit, and a statement whose client has vanished.
    ///
    /// By default the server checks its client only between statements: a long one would continue, and hold its locks,
    /// for nobody.
    static func silence(limit: Duration?) -> [SessionSetting] {
        [
            SessionSetting("idle_in_transaction_session_timeout", "\(limit.map(milliseconds) ?? 0)"),
            SessionSetting("client_connection_check_interval", "10s"),
        ]
    }

    /// At least one, because zero means no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        duration < .seconds(2_000_000) ? max(1, duration.wholeMilliseconds) : 2_000_000_000
    }
}
