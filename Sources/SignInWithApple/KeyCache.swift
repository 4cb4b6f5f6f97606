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
    /// How long a new key may be missing from what is handed out, though Apple signs with it: caches hear of it one by
    /// one.
    static let spreading: Double = 900

    enum Decision: Sendable {
        /// Use what is at hand.
        case use(AppleKeys.Lookup)
        /// Use what is at hand, which is old, and have it fetched anew behind.
        case refresh(AppleKeys.Lookup)
        /// Fetch first, or join the fetch under way.
        case fetch
    }

    /// The last good set; serves for as long as Apple is down.
    private(set) var set: AppleKeySet?
    /// When the fetch of the set began.
    private var fetchedAt: Date?
    private var lastAttempt: Date?
    private var isFetching = false

    /// What to do for somebody who needs a key, or any set, for a token that came at `arrived`.
    func decide(need keyID: String?, arrived: Date, at now: Date) -> Decision {
        let found = lookup(arrived: arrived, at: now)
        if let set, keyID.map(set.contains) ?? true {
            return isFresh(at: now) || isFetching || !hasCooledDown(at: now) ? .use(found) : .refresh(found)
        }
        if found.isConclusive { return .use(found) }
        return isFetching || hasCooledDown(at: now) ? .fetch : .use(found)
    }

    /// Begins a fetch, unless one was made a moment ago: whoever decided to fetch may come after another's fetch has
    /// ended.
    mutating func begin(at now: Date) -> Bool {
        guard !isFetching, hasCooledDown(at: now) else { return false }
        isFetching = true
        lastAttempt = now
        return true
    }

    /// Takes the result of a fetch; a failed one leaves the set as it was.
    mutating func finish(_ fetched: AppleKeySet?) {
        isFetching = false
        guard let fetched else { return }
        set = fetched
        fetchedAt = lastAttempt
    }

    /// What is at hand for a token that came at `arrived`.
    ///
    /// A set that was asked for when a new key had spread holds the token's key, if it is Apple's. A set of the future
    /// was fetched before the clock was set back, nobody knows when.
    func lookup(arrived: Date, at now: Date) -> AppleKeys.Lookup {
        AppleKeys.Lookup(set: set, isConclusive: fetchedAt.map { arrived + Self.spreading <= $0 && $0 <= now } ?? false)
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
