/// Decides when a thread that waits often sets one alarm for many waits instead of a timeout on each: a pure value.
///
/// A timeout on `poll` makes the system set a timer and cancel it, which doubles the cost of the call if the answer
/// comes within a millisecond. An alarm is set at most twice a second and left to ring; a thread that it wakes checks
/// the time and continues to wait.
struct WaitAlarm: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// How to limit a wait.
    enum Limit: Sendable, Hashable {
        /// No limit: there is no deadline, or the pending alarm rings before it.
        case none
        /// A timeout on the wait itself.
        case own
        /// An alarm that has to be set now.
        case alarm(at: Instant)
    }

    /// An alarm is set once there were more waits than this within ``span``.
    private static let many = 32
    private static let span = Duration.milliseconds(100)
    /// The furthest alarm: the next wait's deadline may be near.
    private static let furthest = Duration.milliseconds(500)

    /// Whether alarms are available.
    private var isUsable: Bool
    /// When the last alarm that was set rings.
    private var rings: Instant?
    private var waits = 0
    private var countedSince: Instant?

    init(isUsable: Bool = true) {
        self.isUsable = isUsable
    }

    /// Records that an alarm could not be set.
    mutating func failed() {
        isUsable = false
        rings = nil
    }

    mutating func limit(until deadline: Instant?, now: Instant) -> Limit {
        guard let deadline else { return .none }
        guard isUsable else { return .own }
        if let rings, now < rings, rings <= deadline { return .none }
        if let countedSince, now < countedSince.advanced(by: Self.span) {
            waits += 1
        } else {
            waits = 1
            countedSince = now
        }
        // A wait with a near deadline has its own timeout: each nearer deadline would need another alarm.
        guard waits > Self.many, now.advanced(by: Self.span) < deadline else { return .own }
        let ring = min(deadline, now.advanced(by: Self.furthest))
        rings = ring
        return .alarm(at: ring)
    }
}
