/// The server's own time limits, as SQL.
///
/// They end what a vanished client left running, and end a slow statement without the detour of a cancel request.
enum ServerLimits {
    /// Sets the limits of single statements a little below the client's deadline.
    ///
    /// A wait for a lock ends earlier still, so that it is told apart (55P03) from a statement that is slow by itself (57014).
    static func statementSQL(deadline: Duration?) -> String {
        guard let deadline else { return "set statement_timeout = 0; set lock_timeout = 0" }
        return """
            set statement_timeout = \(milliseconds(deadline * 0.95)); set lock_timeout = \(milliseconds(deadline * 0.9))
            """
    }

    /// Ends a transaction whose client does nothing for too long.
    static func idleSQL(limit: Duration?) -> String {
        "set idle_in_transaction_session_timeout = \(limit.map(milliseconds) ?? 0)"
    }

    /// At least one, since zero is no limit.
    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
