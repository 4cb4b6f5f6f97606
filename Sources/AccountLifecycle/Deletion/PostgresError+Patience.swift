import Postgres

extension PostgresError {
    /// Whether the statement failed only because of a time limit, ours or the server's own.
    var tookTooLong: Bool {
        connectionUsable && (code == .deadlineExceeded || sqlState == .queryCanceled)
    }

    /// Whether the statement waited too long for a lock; a statement's time limit may be shorter than the lock timeout.
    var waitedTooLong: Bool { sqlState == .lockNotAvailable || tookTooLong }
}
