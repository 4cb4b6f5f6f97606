#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides when a worker makes parked jobs available again that no longer need to wait: a pure value.
///
/// A statement takes some thousands of them; while it finds that many, the next follows at once.
struct ParkedRounds: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What the jobs waited for.
    enum Reason: String, Sendable, CaseIterable {
        /// Room under a limit per key that no longer exists.
        case limits
        /// A newer release than the one that parked them, such as this one.
        ///
        /// Runs less often than the others: it walks over all parked jobs of these kinds, of which a million may wait
        /// for one key.
        case newer
        /// A release that can read their arguments; each worker tries once.
        case undecodable
    }

    /// A search for jobs with one reason, which may take several statements.
    struct Round: Sendable, Hashable {
        let reason: Reason
        /// The server's time when it began: jobs parked again since then are left to the next round.
        let since: Date
    }

    let interval: Duration
    private var next: [Reason: Instant]
    private var unfinished: [Reason: Round] = [:]

    /// Creates rounds that are all due at once, and then once per interval, except the one that is tried only once.
    init(interval: Duration, now: Instant) {
        self.interval = interval
        next = Dictionary(uniqueKeysWithValues: Reason.allCases.map { ($0, now) })
    }

    func isDue(now: Instant) -> Bool { next.values.contains { $0 <= now } }

    /// Begins the rounds that are due, or continues them.
    ///
    /// A round without a call of ``brought(_:in:now:)`` is due again after the interval.
    mutating func begin(now: Instant, serverTime: Date) -> [Round] {
        Reason.allCases.compactMap { reason in
            guard let due = next[reason], due <= now else { return nil }
            next[reason] = now.advanced(by: reason == .newer ? interval * 6 : interval)
            let round = unfinished[reason] ?? Round(reason: reason, since: serverTime)
            unfinished[reason] = round
            return round
        }
    }

    /// Records that a statement of a round made so many jobs available.
    mutating func brought(_ count: Int, in round: Round, now: Instant) {
        if count >= JobQueue.unparkedAtOnce {
            next[round.reason] = now
        } else {
            unfinished[round.reason] = nil
            if round.reason == .undecodable { next[.undecodable] = nil }
        }
    }
}
