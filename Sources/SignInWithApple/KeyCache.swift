#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides when Apple's keys are fetched; a value that is told the time.
struct KeyCache: Sendable {
    /// How long a set is used without asking again.
    static let maximumAge: Double = 3600
    /// The least time between two fetches, whoever asks for whatever key: tokens with invented key ids must not drive
    /// traffic to Apple.
    static let cooldown: Double = 30

    enum Decision: Sendable {
        /// Use this set, which may be nil.
        case use(AppleKeySet?)
        /// Fetch first, or join the fetch under way.
        case fetch
    }

    /// The last good set; serves for as long as Apple is down.
    private(set) var set: AppleKeySet?
    private var fetchedAt: Date?
    private var lastAttempt: Date?
    private var isFetching = false

    /// What to do for somebody who needs a key, or any set.
    mutating func decide(need keyID: String?, at now: Date) -> Decision {
        if let set, keyID.map(set.contains) ?? true, isFresh(at: now) { return .use(set) }
        if isFetching { return .fetch }
        guard hasCooledDown(at: now) else { return .use(set) }
        isFetching = true
        lastAttempt = now
        return .fetch
    }

    /// Takes the result of a fetch; a failed one leaves the set as it was.
    mutating func finish(_ fetched: AppleKeySet?, at now: Date) {
        isFetching = false
        guard let fetched else { return }
        set = fetched
        fetchedAt = now
    }

    /// Seconds since the set was fetched.
    func age(at now: Date) -> Double? {
        fetchedAt.map { now.timeIntervalSince($0) }
    }

    private func isFresh(at now: Date) -> Bool {
        guard let age = age(at: now) else { return false }
        return (0..<Self.maximumAge).contains(age)
    }

    private func hasCooledDown(at now: Date) -> Bool {
        guard let lastAttempt else { return true }
        let elapsed = now.timeIntervalSince(lastAttempt)
        return elapsed >= Self.cooldown || elapsed < 0
    }
}
