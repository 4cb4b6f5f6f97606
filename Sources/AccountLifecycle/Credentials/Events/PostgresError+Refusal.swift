import Postgres

extension PostgresError {
    /// Whether the server refused, or did not finish in time, what was asked, on a connection that can go on.
    ///
    /// Then it may be about the one row that was dealt with, and another may fare better.
    var isRefusal: Bool {
        connectionUsable && (code == .server || code == .deadlineExceeded)
    }
}
