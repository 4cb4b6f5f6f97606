#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// From when on a watch reads what changed, by the server's clock: a value that decides.
struct LookBack: Sendable {
    /// What commits late carries an earlier time.
    private static let overlap: TimeInterval = 10
    /// Where nothing changes of what is watched, no more than this of all else is read again at each look.
    private static let longest: TimeInterval = 600

    /// Changes after this are read.
    private(set) var since: Date

    /// A watch that begins with what changes after a moment.
    init(from moment: Date) {
        since = moment
    }

    /// A look begins, `now` by the clock of the server that is looked at.
    ///
    /// After a failover that is another's, which may be behind: nothing would be seen until it is as late again.
    mutating func begin(now: Date) {
        since = min(since, now)
    }

    /// The look that began at `now` has read everything, the last of which changed at a moment; nil where nothing has.
    mutating func end(began now: Date, last: Date?) {
        since = max(
            since,
            now.addingTimeInterval(-Self.longest),
            min(last ?? since, now).addingTimeInterval(-Self.overlap)
        )
    }
}
