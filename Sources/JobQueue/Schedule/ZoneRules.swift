/// The offsets of one time zone over a period of time.
///
/// The engine reads them from the server, whose zone data it trusts over that of a slim container; tests write them
/// down.
struct ZoneRules: Sendable, Hashable {
    /// A change of the offset: from this instant on, the zone is this far east of UTC.
    struct Transition: Sendable, Hashable {
        /// Seconds since 1970 UTC.
        let instant: Int
        /// Seconds east of UTC.
        let offset: Int

        init(instant: Int, offset: Int) {
            self.instant = instant
            self.offset = offset
        }
    }

    /// The instants of a civil time, in seconds since 1970 UTC.
    enum Instants: Hashable {
        case once(Int)
        /// The clocks were set back over it.
        case twice(Int, Int)
        /// The clocks were set forward over it, at this instant.
        case skipped(at: Int)
    }

    /// The offset before the first transition.
    private let initialOffset: Int

    private let transitions: [Transition]

    /// UTC.
    static let utc = ZoneRules(initialOffset: 0, transitions: [])

    /// Creates rules from an offset and its changes, earliest first.
    init(initialOffset: Int, transitions: [Transition]) {
        self.initialOffset = initialOffset
        self.transitions = transitions
    }

    /// The offset at an instant, in seconds east of UTC.
    func offset(at instant: Int) -> Int {
        transitions.last { $0.instant <= instant }?.offset ?? initialOffset
    }

    func instants(of civil: CivilTime) -> Instants {
        let local = civil.localSeconds
        let offsets = [initialOffset] + transitions.map(\.offset)
        let hits = Set(offsets).map { local - $0 }.filter { offset(at: $0) == local - $0 }.sorted()
        if hits.count > 1 { return .twice(hits[0], hits[1]) }
        if let hit = hits.first { return .once(hit) }
        // Skipped: find the jump whose local time before it is at or below this time, and after it above.
        var before = initialOffset
        for transition in transitions {
            let shownBefore = transition.instant + before
            let shownAfter = transition.instant + transition.offset
            if shownBefore <= local, local < shownAfter { return .skipped(at: transition.instant) }
            before = transition.offset
        }
        return .once(local - initialOffset)
    }
}
