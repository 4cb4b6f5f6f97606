import Postgres

/// What keeps an outcome from being written, and what can be written of it all the same.
extension Settlement {
    /// The verdict without the values that the server may have refused: the work is done, and is recorded as done.
    static func mended(_ verdict: Verdict) -> Verdict {
        switch verdict {
        case .end(let outcome, _, let reason, _):
            return .end(outcome, reason: reason.map(ascii) ?? "its output could not be stored")
        case .giveBack(var next):
            next.failure = nil
            return .giveBack(next)
        case .park(let reason, let failure):
            return .park(reason: reason, failure: .init(attempt: failure.attempt, error: ascii(failure.error)))
        case .release, .nothing:
            return verdict
        }
    }

    private static func ascii(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII && $0.value >= 0x20 ? $0 : "?" }))
    }

    /// Whether the statement gave up waiting for another session's lock: after our lock timeout, or, in a session that
    /// does not keep it, after the deadline of a statement.
    static func isHeldUp(_ error: PostgresError) -> Bool {
        error.connectionUsable && error.outcomeKnown
            && (error.sqlState == .lockNotAvailable || error.code == .deadlineExceeded)
    }

    /// Whether the server refused the values themselves, as invalid or out of bounds, and not because of a temporary
    /// state.
    static func isRefusal(_ error: PostgresError) -> Bool {
        guard error.connectionUsable else { return false }
        if error.code == .encoding { return true }
        guard error.code == .server, let sqlState = error.sqlState else { return false }
        return ["22", "23", "54"].contains(sqlState.class.rawValue)
    }
}
