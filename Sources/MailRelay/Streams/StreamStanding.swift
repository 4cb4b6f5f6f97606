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
    /// Each path changes when two runs that saw it agree. A run that did not see a path neither confirms nor withdraws
    /// what waits for a second run: not answering is no change, and no agreement. The very first verdict also needs a
    /// second run.
    ///
    /// - Returns: The change that this verdict settles, if any.
    package mutating func observe(_ verdict: StreamVerdict, at now: Date) -> Change? {
        // Times stored by a clock that ran ahead lie in the future and would look fresh; cap them at now.
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
            // An unknown path does not matter if the other alone gives the same answer: the verdict counts as confirmed.
            if rest == nil, verdict.reachable == settled.reachable { confirmedAt = now }
            pending = rest
            return nil
        }
        let hasPathChanged = settled.spf != known?.spf ?? .unknown || settled.dkim != known?.dkim ?? .unknown
        // Otherwise registration has changed, or there was no verdict so far: that needs a second run, too.
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

    /// What is held of a path after a run, and what waits for a second one.
    private static func step(
        _ held: PathVerdict,
        _ waiting: PathVerdict?,
        seen: PathVerdict
    ) -> (held: PathVerdict, waiting: PathVerdict) {
        if seen == .unknown { return (held, waiting ?? held) }
        return seen == waiting ? (seen, seen) : (held, seen)
    }

    /// What paths that stand so make of the stream.
    private func answer(_ spf: PathVerdict, _ dkim: PathVerdict, _ verdict: StreamVerdict) -> Known {
        // Silence about the From domain's policy, or about the envelope domain, withdraws no refusal.
        let isRefusalOpen = verdict.refusal == .unknown || verdict.sender == .unknown
        if isRefusalOpen, let known, known.reachable == .no, known.spf == spf, known.dkim == dkim {
            return known
        }
        return Known(spf: spf, dkim: dkim, reachable: verdict.reachable(spf: spf, dkim: dkim))
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
