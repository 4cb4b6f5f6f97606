/// What a claim from lanes under limits did.
struct LimitedClaim: Sendable {
    /// When its first statement was sent, behind the locks of the limits.
    let sentAt = ContinuousClock.now
    var jobs: [ClaimedJob] = []
    /// Whether it ended although there was room, and may be more to take.
    var isCut = false
    /// Where jobs stood that it set aside since their keys have no room, in microseconds since 1970: others begin
    /// behind them.
    var parked: [(key: ClaimBounds.Key, readyAt: Int64)] = []
    /// The limit keys for which jobs wait, as far as is known now, by kind.
    var waiting: [String: WaitingKeys] = [:]
}
