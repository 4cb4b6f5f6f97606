/// When a thread that waits often sets one alarm for many waits, in place of a time limit on each: a value that
/// decides.
///
/// A limit on `poll` has the system set a timer and take it back, which costs as much again as the call where the
/// answer comes within a millisecond. An alarm is set twice a second at most and left to ring; whoever is woken by it
/// looks at the time and waits on.
struct WaitAlarm: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// How a wait is to be limited.
    enum Limit: Sendable, Hashable {
        /// Not at all: there is no deadline, or the alarm that is set rings before it.
        case none
        /// By the wait itself.
        case own
        /// By an alarm that is now to be set.
        case alarm(at: Instant)
    }

    /// An alarm is set once there were more waits than this within ``span``.
    private static let many = 32
    private static let span = Duration.milliseconds(100)
    /// Alarms are no further away: the next wait's deadline may be near.
    private static let furthest = Duration.milliseconds(500)

    /// Whether alarms can be had at all.
    private var isUsable: Bool
    /// When the alarm rings that was set last.
    private var rings: Instant?
    private var waits = 0
    private var countedSince: Instant?

    init(isUsable: Bool = true) {
        self.isUsable = isUsable
    }

    /// The alarm that was to be set could not be.
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
        // A wait that is over soon is best limited by itself: each nearer deadline would need an alarm of its own.
        guard waits > Self.many, now.advanced(by: Self.span) < deadline else { return .own }
        let ring = min(deadline, now.advanced(by: Self.furthest))
        rings = ring
        return .alarm(at: ring)
    }
}
