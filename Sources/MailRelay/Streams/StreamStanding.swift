#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What is held of a stream between checks: the verdict that two runs agreed on, and the one that waits for a second.
///
/// A pure value: the job loads it, shows it a verdict, stores it and acts on what comes back.
package struct StreamStanding: Sendable, Hashable, Codable {
    /// The last verdict that two runs agreed on; nil until there is one.
    package private(set) var known: Known?
    /// A verdict seen once that differs from the known one.
    package private(set) var pending: Known?
    /// Since when DNS has not answered well enough for a verdict; nil when it does.
    ///
    /// The known verdict only ages meanwhile.
    package private(set) var unknownSince: Date?
    /// When the known verdict last changed.
    package private(set) var changedAt: Date?
    /// When the known verdict was last seen to hold.
    package private(set) var confirmedAt: Date?

    /// The parts of a verdict that are remembered.
    package struct Known: Sendable, Hashable, Codable {
        /// The SPF path.
        package var spf: PathVerdict
        /// The DKIM path.
        package var dkim: PathVerdict
        /// Whether mail gets through.
        package var reachable: Reachability
    }

    /// A change that two runs agree on, worth an alert.
    package struct Change: Sendable, Hashable {
        /// What was held before; nil for the first verdict.
        package let from: Known?
        /// What is held now.
        package let to: Known
    }

    /// Nothing known yet.
    package init() {}

    /// Takes in a verdict.
    ///
    /// A path that is unknown keeps what is known of it: not answering is no change. Returns a change when this verdict
    /// differs from the known one and agrees with the one before it; the very first verdict also needs a second run.
    package mutating func observe(_ verdict: StreamVerdict, at now: Date) -> Change? {
        let seen = merged(verdict)
        let isUnknown = verdict.spf == .unknown || verdict.dkim == .unknown
        unknownSince = isUnknown ? unknownSince ?? now : nil
        if seen == known {
            pending = nil
            if !isUnknown { confirmedAt = now }
            return nil
        }
        guard pending == seen else {
            pending = seen
            return nil
        }
        let change = Change(from: known, to: seen)
        known = seen
        pending = nil
        changedAt = now
        confirmedAt = now
        return change
    }

    private func merged(_ verdict: StreamVerdict) -> Known {
        let held = known ?? pending
        let spf = verdict.spf == .unknown ? held?.spf ?? .unknown : verdict.spf
        let dkim = verdict.dkim == .unknown ? held?.dkim ?? .unknown : verdict.dkim
        let merged = StreamVerdict(
            spf: spf,
            dkim: dkim,
            envelopeRegistered: verdict.envelopeRegistered,
            fromRegistered: verdict.fromRegistered
        )
        return Known(spf: spf, dkim: dkim, reachable: merged.reachable)
    }

    /// How long to wait for the next check: an hour after a change or while something is in doubt, a day when stable.
    ///
    /// - Parameters:
    ///   - now: the time of the check just made.
    ///   - jitter: -1 to 1, from a random source; moves the time by up to a tenth, so that streams spread out.
    /// - Returns: when to check next.
    package func nextCheck(after now: Date, jitter: Double) -> Date {
        let settled = pending == nil && known != nil && unknownSince == nil && known?.reachable == .yes
        let isFresh = changedAt.map { now.timeIntervalSince($0) < Self.watchTime } ?? true
        let interval = settled && !isFresh ? Self.day : Self.hour
        return now.addingTimeInterval(interval * (1 + 0.1 * max(-1, min(1, jitter))))
    }

    private static var hour: Double { 3600 }
    private static var day: Double { 86_400 }
    /// How long after a change a stream is checked hourly.
    private static var watchTime: Double { 86_400 }
}
