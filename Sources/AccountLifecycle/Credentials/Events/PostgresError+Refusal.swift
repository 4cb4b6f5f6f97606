import Postgres

extension PostgresError {
    /// Whether the server refused a statement, or did not finish it in time, on a connection that is still usable.
    ///
    /// The error may then concern just the row being handled, so that another row may succeed.
    var isRefusal: Bool {
        connectionUsable && (code == .server || code == .deadlineExceeded)
    }
}
