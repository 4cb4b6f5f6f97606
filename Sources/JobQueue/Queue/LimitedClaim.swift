/// The result of a claim from lanes under limits.
struct LimitedClaim: Sendable {
    /// When its first statement was sent, after the locks of the limits were taken.
    let sentAt = ContinuousClock.now
    var jobs: [ClaimedJob] = []
    /// Whether it stopped while there was still room, so that there may be more to take.
    var isCut = false
    /// The places of jobs that it parked because their keys have no room, in microseconds since 1970: further searches
    /// may start behind them.
    var parked: [(key: ClaimBounds.Key, readyAt: Int64)] = []
    /// The limit keys for which jobs wait, as far as is known now, by kind.
    var waiting: [String: WaitingKeys] = [:]
}
