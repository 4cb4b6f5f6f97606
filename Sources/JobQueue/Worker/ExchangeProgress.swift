import Postgres
import Synchronization

/// How far one exchange came: what was written or claimed before a later part failed stays so.
final class ExchangeProgress: Sendable {
    private struct State {
        var written = Settlement.Written()
        var plain: PlainClaim?
        var limited: LimitedClaim?
        var limitFailure: PostgresError?
    }

    private let state = Mutex(State())

    var written: Settlement.Written { state.withLock { $0.written } }
    /// What was claimed of the lanes without limits, and of those under limits; nil where nothing was asked for or the
    /// claim failed.
    var claims: (plain: PlainClaim?, limited: LimitedClaim?) { state.withLock { ($0.plain, $0.limited) } }

    /// Why lanes under limits were not claimed from.
    var limitFailure: PostgresError? { state.withLock { $0.limitFailure } }

    func wrote(_ part: Settlement.Written) {
        state.withLock { $0.written.add(part) }
    }

    func claimed(_ claim: PlainClaim) {
        state.withLock { $0.plain = claim }
    }

    func claimed(_ claim: LimitedClaim) {
        state.withLock { $0.limited = claim }
    }

    func limitsFailed(_ error: PostgresError) {
        state.withLock { $0.limitFailure = error }
    }
}
