#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a worker knows of its server by the answers to heartbeats: how late it is there, and since when it answers.
struct ServerContact: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What the server's clock said, in microseconds since 1970, and when; nil before the worker is registered.
    ///
    /// The only wall clock that counts: that of this machine may be off by hours.
    var clock: (time: Int64, at: Instant)?
    /// How many heartbeats in a row failed.
    var failedBeats = 0
    /// Since when the database answers, to a worker that began then, or had no answer for half of the leases' time.
    var answeredSince: Instant?

    /// The server's time now; nil before the worker is registered.
    func time(now: Instant) -> Date? {
        clock.map { Date(timeIntervalSince1970: Double($0.time) / 1_000_000 + (now - $0.at).seconds) }
    }

    /// How much more time has gone by for the server's clock than for this machine's since the last answer.
    func leap(to time: Int64?, now: Instant) -> Duration {
        guard let time, let clock else { return .zero }
        return max(.zero, Duration.microseconds(time - clock.time) - (now - clock.at))
    }
}
