import Synchronization
import Waiting

/// Caches checks that passed some seconds ago, so that a thousand preflights share one check.
final class RecentlyGood<Key: Hashable & Sendable>: Sendable {
    /// How long a passed check is reused.
    static var lifetime: Duration { .seconds(30) }

    private let goodAt = Mutex<[Key: ContinuousClock.Instant]>([:])
    private let tests: Coalescer<Key, Situation?>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - now: The clock.
    ///   - test: Finds out what is wrong; returns nil if all is well.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        test: @escaping @Sendable (Key) async throws -> Situation?
    ) {
        self.now = now
        tests = Coalescer(limit: 1000) { keys in
            var found: [Key: Situation?] = [:]
            for key in Set(keys) { found[key] = .some(try await test(key)) }
            return keys.map { found[$0] ?? nil }
        }
    }

    /// The trouble with a key now; nil if there is none.
    ///
    /// - Throws: what the test throws; `CancellationError`.
    func trouble(with key: Key) async throws -> Situation? {
        let askedAt = now()
        if let good = goodAt.withLock({ $0[key] }), askedAt - good < Self.lifetime { return nil }
        let situation = try await tests.answer(for: key)
        // Failures are not cached: a fix takes effect at once.
        goodAt.withLock { $0[key] = situation == nil ? askedAt : nil }
        return situation
    }
}
