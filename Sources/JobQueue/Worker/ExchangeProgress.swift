import Postgres
import Synchronization

/// The progress of one exchange: what was written or claimed stays so if a later part fails.
final class ExchangeProgress: Sendable {
    private struct State {
        var written = Settlement.Written()
        var plain: PlainClaim?
        var limited: LimitedClaim?
        var limitFailure: PostgresError?
    }

    private let state = Mutex(State())

    var written: Settlement.Written { state.withLock { $0.written } }
    /// What was claimed from the lanes without limits and from those under limits; nil if there was no claim or it
    /// failed.
    var claims: (plain: PlainClaim?, limited: LimitedClaim?) { state.withLock { ($0.plain, $0.limited) } }

    /// Why the claim from lanes under limits failed.
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
