import Synchronization

/// Caches tests that passed some seconds ago, so that a thousand callers share one test.
package final class RecentlyGood<Key: Hashable & Sendable, Trouble: Sendable>: Sendable {
    /// How long a passed test is reused.
    static var lifetime: Duration { .seconds(30) }

    private let goodAt = Mutex<[Key: ContinuousClock.Instant]>([:])
    private let tests: Coalescer<Key, Trouble?>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - now: The clock.
    ///   - test: Finds out what is wrong; returns nil if all is well.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        test: @escaping @Sendable (Key) async throws -> Trouble?
    ) {
        self.now = now
        tests = Coalescer(limit: 1000) { keys in
            var found: [Key: Trouble?] = [:]
            for key in Set(keys) { found[key] = .some(try await test(key)) }
            return keys.map { found[$0] ?? nil }
        }
    }

    /// The trouble with a key now; nil if there is none.
    ///
    /// - Throws: what the test throws; `CancellationError`.
    package func trouble(with key: Key) async throws -> Trouble? {
        let askedAt = now()
        if let good = goodAt.withLock({ $0[key] }), askedAt - good < Self.lifetime { return nil }
        let trouble = try await tests.answer(for: key)
        // Failures are not cached: a fix takes effect at once.
        goodAt.withLock { $0[key] = trouble == nil ? askedAt : nil }
        return trouble
    }
}
