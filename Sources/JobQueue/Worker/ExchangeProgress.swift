import Synchronization

/// How far one exchange came: what was written or claimed before a later part failed stays so.
final class ExchangeProgress: Sendable {
    private struct State {
        var written = Settlement.Written()
        var claimed: [ClaimedJob] = []
        var plainClaims: Int?
    }

    private let state = Mutex(State())

    var hasClaimed: Bool { state.withLock { $0.plainClaims != nil } }

    var written: Settlement.Written { state.withLock { $0.written } }
    var claims: (jobs: [ClaimedJob], plain: Int) { state.withLock { ($0.claimed, $0.plainClaims ?? 0) } }

    func wrote(_ part: Settlement.Written) {
        state.withLock { $0.written.add(part) }
    }

    func claimed(_ jobs: [ClaimedJob], isPlain: Bool) {
        state.withLock { state in
            state.claimed += jobs
            if isPlain { state.plainClaims = jobs.count }
        }
    }
}
