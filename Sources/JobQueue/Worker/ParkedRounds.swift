#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// When a worker makes parked jobs available again that need wait no longer: a value that decides.
///
/// A statement takes some thousands of them; while it finds as many, the next follows at once.
struct ParkedRounds: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What they waited for.
    enum Reason: String, Sendable, CaseIterable {
        /// Room under a limit per key, which is no more.
        case limits
        /// A release like this one, as an older one saw.
        ///
        /// More rarely than the others: it walks over all jobs of these kinds that are set aside, which may be a million
        /// waiting for one key.
        case newer
        /// A release that reads their arguments. Each worker tries once.
        case undecodable
    }

    /// A look for jobs of one reason, which may take several statements.
    struct Round: Sendable, Hashable {
        let reason: Reason
        /// The server's time as it began: what is set aside again meanwhile is left to the next.
        let since: Date
    }

    let interval: Duration
    private var next: [Reason: Instant]
    private var unfinished: [Reason: Round] = [:]

    /// All of them are due at once, and then, but for what is tried once, each interval.
    init(interval: Duration, now: Instant) {
        self.interval = interval
        next = Dictionary(uniqueKeysWithValues: Reason.allCases.map { ($0, now) })
    }

    func isDue(now: Instant) -> Bool { next.values.contains { $0 <= now } }

    /// Begins the rounds that are due, or goes on with them.
    ///
    /// One of which ``brought(_:in:now:)`` is never told is due again after the interval.
    mutating func begin(now: Instant, serverTime: Date) -> [Round] {
        Reason.allCases.compactMap { reason in
            guard let due = next[reason], due <= now else { return nil }
            next[reason] = now.advanced(by: reason == .newer ? interval * 6 : interval)
            let round = unfinished[reason] ?? Round(reason: reason, since: serverTime)
            unfinished[reason] = round
            return round
        }
    }

    /// A statement of a round made so many jobs available.
    mutating func brought(_ count: Int, in round: Round, now: Instant) {
        if count >= JobQueue.unparkedAtOnce {
            next[round.reason] = now
        } else {
            unfinished[round.reason] = nil
            if round.reason == .undecodable { next[.undecodable] = nil }
        }
    }
}
