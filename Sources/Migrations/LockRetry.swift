/// Decides when a migration that could not get its locks is retried.
///
/// Waiting in the lock queue harms a live database, since every later session queues behind the waiting one. Each try
/// therefore waits only briefly, rolls back, and is repeated after a growing pause with jitter.
struct LockRetry: Sendable {
    private static let shortest: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(5)

    /// The maximum time for all tries together.
    let patience: Duration

    /// The pause before the next try; nil when it is time to give up.
    ///
    /// - Parameters:
    ///   - tries: the number of tries so far.
    ///   - elapsed: the time since the first try began.
    ///   - random: a number from 0 to 1.
    /// - Returns: a pause of which half is fixed and half is random.
    func pause(after tries: Int, elapsed: Duration, random: Double) -> Duration? {
        guard elapsed < patience else { return nil }
        let doubled = Self.shortest * Double(1 << min(tries - 1, 10))
        let full = min(doubled, Self.longest)
        return full * (0.5 + random / 2)
    }
}
