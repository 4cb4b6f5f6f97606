import Postgres

extension PostgresError {
    /// Whether a limit of time ended the statement, ours or the server's own, and nothing else is wrong.
    var tookTooLong: Bool {
        connectionUsable && (code == .deadlineExceeded || sqlState == .queryCanceled)
    }

    /// Whether it was a lock that was waited for too long; a statement's limit may be shorter than that of locks.
    var waitedTooLong: Bool { sqlState == .lockNotAvailable || tookTooLong }
}
