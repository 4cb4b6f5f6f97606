#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides when Apple's keys are fetched; a value type whose caller supplies the time.
struct KeyCache: Sendable {
    /// How long a set is used before it is refreshed, in seconds.
    static let maximumAge: Double = 3600
    /// The minimum time between two fetches, in seconds, so that tokens with invented key ids cannot drive traffic to
    /// Apple.
    static let cooldown: Double = 30
    /// How long a key that Apple already signs with may be missing from fetched sets, in seconds, since caches update
    /// one by one.
    static let spreading: Double = 900

    enum Decision: Sendable {
        /// Use the cached set.
        case use(AppleKeys.Lookup)
        /// Use the cached set, which is old, and refresh it in the background.
        case refresh(AppleKeys.Lookup)
        /// Fetch first, or join the fetch in flight.
        case fetch
    }

    /// The last good set, which stays in use while Apple is down.
    private(set) var set: AppleKeySet?
    /// When the fetch of the current set started.
    private var fetchedAt: Date?
    private var lastAttempt: Date?
    private var isFetching = false

    /// Decides what to do for a caller that needs a key, or any set, for a token that came at `arrived`.
    func decide(need keyID: String?, arrived: Date, at now: Date) -> Decision {
        let found = lookup(arrived: arrived, at: now)
        if let set, keyID.map(set.contains) ?? true {
            return isFresh(at: now) || isFetching || !hasCooledDown(at: now) ? .use(found) : .refresh(found)
        }
        if found.isConclusive { return .use(found) }
        return isFetching || hasCooledDown(at: now) ? .fetch : .use(found)
    }

    /// Starts a fetch unless one is in flight or was just made: another caller's fetch may have ended since this
    /// caller's decision.
    mutating func begin(at now: Date) -> Bool {
        guard !isFetching, hasCooledDown(at: now) else { return false }
        isFetching = true
        lastAttempt = now
        return true
    }

    /// Stores the result of a fetch; a failed fetch keeps the old set.
    mutating func finish(_ fetched: AppleKeySet?) {
        isFetching = false
        guard let fetched else { return }
        set = fetched
        fetchedAt = lastAttempt
    }

    /// The cached set, as it applies to a token that came at `arrived`.
    ///
    /// The lookup is conclusive if the set was fetched after a new key had time to spread. A fetch time in the future
    /// means that the clock was set back since, so the set's age is unknown.
    func lookup(arrived: Date, at now: Date) -> AppleKeys.Lookup {
        AppleKeys.Lookup(set: set, isConclusive: fetchedAt.map { arrived + Self.spreading <= $0 && $0 <= now } ?? false)
    }

    /// The age of the set in seconds; nil without a set.
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
