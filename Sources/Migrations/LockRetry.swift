/// When a migration that could not get its locks is tried again.
///
/// Waiting in the lock queue is what hurts a live database: everybody who comes later waits behind the one that waits.
/// So each try waits briefly, gives everything back, and comes again after a pause that grows and is never the same.
struct LockRetry: Sendable {
    private static let shortest: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(5)

    /// The longest that all tries together may take.
    let patience: Duration

    /// The pause before the next try, nil when it is time to give up.
    ///
    /// - Parameters:
    ///   - tries: how many there were.
    ///   - elapsed: the time since the first one began.
    ///   - random: a number from 0 to 1.
    /// - Returns: half of the pause fixed, half of it by chance.
    func pause(after tries: Int, elapsed: Duration, random: Double) -> Duration? {
        guard elapsed < patience else { return nil }
        let doubled = Self.shortest * Double(1 << min(tries - 1, 10))
        let full = min(doubled, Self.longest)
        return full * (0.5 + random / 2)
    }
}
