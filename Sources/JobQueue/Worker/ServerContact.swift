#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a worker knows about its server from the answers to heartbeats: its clock, and since when it answers.
struct ServerContact: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The server's time, in microseconds since 1970, and when it was read; nil before the worker is registered.
    ///
    /// The only wall clock that is used: this machine's may be off by hours.
    var clock: (time: Int64, at: Instant)?
    /// Whether the clock may have been set back since the waits of jobs were last checked; a worker that starts cannot
    /// know.
    var mayHaveGoneBack = true
    /// How many heartbeats in a row failed.
    var failedBeats = 0
    /// Since when the database has been answering, counted from the worker's start or from the end of a gap of half a
    /// lease lifetime.
    var answeredSince: Instant?

    /// The server's time now; nil before the worker is registered.
    func time(now: Instant) -> Date? {
        clock.map { Date(timeIntervalSince1970: Double($0.time) / 1_000_000 + (now - $0.at).seconds) }
    }

    /// Records the server's time.
    mutating func told(_ time: Int64, now: Instant) {
        // Anything shorter may be an answer that took long, or another server's clock.
        if let clock, (now - clock.at) - Duration.microseconds(time - clock.time) > Duration.seconds(60) {
            mayHaveGoneBack = true
        }
        clock = (time, now)
    }

    /// How much more time has passed on the server's clock than on this machine's since the last answer.
    func leap(to time: Int64?, now: Instant) -> Duration {
        guard let time, let clock else { return .zero }
        return max(.zero, Duration.microseconds(time - clock.time) - (now - clock.at))
    }
}
