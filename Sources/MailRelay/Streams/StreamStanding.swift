#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The state of a stream between checks: the verdict that two runs agreed on, and the one awaiting a second run.
///
/// A pure value: the job loads the state, passes a verdict to ``observe(_:at:)``, stores the state and acts on the
/// returned change.
package struct StreamStanding: Sendable, Hashable, Codable {
    /// The last verdict that two runs agreed on; nil until there is one.
    package private(set) var known: Known?
    /// A verdict that differs from the known one and has been seen only once.
    package private(set) var pending: Known?
    /// The time since which DNS answers have been insufficient for a verdict; nil while they are sufficient.
    ///
    /// Meanwhile, the known verdict stays and only ages.
    package private(set) var unknownSince: Date?
    /// When the known verdict last changed.
    package private(set) var changedAt: Date?
    /// When the known verdict was last confirmed.
    package private(set) var confirmedAt: Date?

    /// The parts of a verdict that are stored.
    package struct Known: Sendable, Hashable, Codable {
        /// The SPF path.
        package var spf: PathVerdict
        /// The DKIM path.
        package var dkim: PathVerdict
        /// Whether mail gets through.
        package var reachable: Reachability
    }

    /// A change that two runs agreed on, which is worth an alert.
    package struct Change: Sendable, Hashable {
        /// The previous verdict; nil if there was none.
        package let from: Known?
        /// The new verdict.
        package let to: Known
    }

    /// Creates a state without a verdict.
    package init() {}

    /// Applies a verdict.
    ///
    /// A path changes when two consecutive runs that saw it agree. A run that did not see a path neither confirms nor
    /// withdraws its pending change, because a missing answer is neither a change nor an agreement. The very first
    /// verdict also needs a second run.
    ///
    /// - Returns: The change that this verdict settles, if any.
    package mutating func observe(_ verdict: StreamVerdict, at now: Date) -> Change? {
        // A clock that ran ahead stored times in the future, which would look fresh; cap them at now.
        unknownSince = unknownSince.map { min($0, now) }
        changedAt = changedAt.map { min($0, now) }
        confirmedAt = confirmedAt.map { min($0, now) }
        unknownSince = verdict.isSilent ? unknownSince ?? now : nil
        let spf = Self.step(known?.spf ?? .unknown, pending?.spf, seen: verdict.spf)
        let dkim = Self.step(known?.dkim ?? .unknown, pending?.dkim, seen: verdict.dkim)
        let settled = answer(spf.held, dkim.held, verdict)
        let waiting = answer(spf.waiting, dkim.waiting, verdict)
        let rest = waiting == settled ? nil : waiting
        if settled == known {
            // An unknown path does not matter if the other path alone gives the same answer: the verdict counts as
            // confirmed.
            if rest == nil, verdict.reachable == settled.reachable { confirmedAt = now }
            pending = rest
            return nil
        }
        let hasPathChanged = settled.spf != known?.spf ?? .unknown || settled.dkim != known?.dkim ?? .unknown
        // Otherwise the registration has changed or there was no verdict yet, which needs a second run as well.
        guard hasPathChanged || (rest == nil && pending == settled) else {
            pending = waiting
            return nil
        }
        let change = Change(from: known, to: settled)
        known = settled
        pending = rest
        changedAt = now
        confirmedAt = now
        return change
    }

    /// The settled verdict on a path after a run, and the one awaiting a second run.
    private static func step(
        _ held: PathVerdict,
        _ waiting: PathVerdict?,
        seen: PathVerdict
    ) -> (held: PathVerdict, waiting: PathVerdict) {
        if seen == .unknown { return (held, waiting ?? held) }
        return seen == waiting ? (seen, seen) : (held, seen)
    }

    /// The verdict on the stream that follows from the verdicts on its paths.
    private func answer(_ spf: PathVerdict, _ dkim: PathVerdict, _ verdict: StreamVerdict) -> Known {
        // A missing DNS answer about the From domain's policy or the envelope domain does not withdraw a refusal.
        let isRefusalOpen = verdict.refusal == .unknown || verdict.sender == .unknown
        if isRefusalOpen, let known, known.reachable == .no, known.spf == spf, known.dkim == dkim {
            return known
        }
        return Known(spf: spf, dkim: dkim, reachable: verdict.reachable(spf: spf, dkim: dkim))
    }

    /// The time of the next check: after a day for a stream that is stable and reachable, otherwise after an hour.
    ///
    /// - Parameters:
    ///   - now: the time of the check just made.
    ///   - jitter: a random number from -1 to 1, which shifts the time by up to a tenth to spread the checks.
    /// - Returns: the time of the next check.
    package func nextCheck(after now: Date, jitter: Double) -> Date {
        let settled = pending == nil && known != nil && unknownSince == nil && known?.reachable == .yes
        let isFresh = changedAt.map { now.timeIntervalSince($0) < Self.watchTime } ?? true
        let interval = settled && !isFresh ? Self.day : Self.hour
        return now.addingTimeInterval(interval * (1 + 0.1 * max(-1, min(1, jitter))))
    }

    private static var hour: Double { 3600 }
    private static var day: Double { 86_400 }
    /// How long a stream is checked hourly after a change.
    private static var watchTime: Double { 86_400 }
}
