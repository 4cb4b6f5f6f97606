#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a job that has not ended continues.
struct NextTurn: Sendable, Hashable {
    /// How long to wait; nil to be available at once.
    var wait: Duration?
    /// The instant at which the wait ends by the server's clock if that is sooner: `wait` counts from the worker's idea of
    /// the server's time, and the clock may have been set since the last heartbeat.
    var until: Date?
    /// Whether the attempt is given back and does not count.
    var givesAttemptBack = false
    /// What failed, if anything did.
    var failure: Verdict.Failure?
    /// Whether the usual attempts are used up.
    var isExhausted = false
    /// The new crash count; nil to keep it.
    var crashes: Int16?
    /// Whether its handler succeeded and asks to be called again, which ends an alarm about earlier failures.
    var isWell = false
}
