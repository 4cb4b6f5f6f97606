#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The time from which a watch reads changes, by the server's clock.
struct LookBack: Sendable {
    /// In seconds: a transaction that commits late has an earlier time.
    private static let overlap: TimeInterval = 10
    /// In seconds: if nothing watched changes, a look reads at most this much of all other changes again.
    private static let longest: TimeInterval = 600

    /// Changes after this are read.
    private(set) var since: Date

    /// A watch of the changes after a moment.
    init(from moment: Date) {
        since = moment
    }

    /// Begins a look; `now` is the clock of the server that it reads.
    ///
    /// After a failover that is another server's clock. If it is behind, no change would be seen until it had caught
    /// up.
    mutating func begin(now: Date) {
        since = min(since, now)
    }

    /// Ends the look that began at `now`, after it read everything; `last` is the time of the last change, or nil if
    /// there was none.
    mutating func end(began now: Date, last: Date?) {
        since = max(
            since,
            now.addingTimeInterval(-Self.longest),
            min(last ?? since, now).addingTimeInterval(-Self.overlap)
        )
    }
}
