import Synchronization
import Waiting

/// What was found good some seconds ago, so that a thousand preflights ask once.
final class RecentlyGood<Key: Hashable & Sendable>: Sendable {
    /// How long an answer that was good serves.
    static var lifetime: Duration { .seconds(30) }

    private let goodAt = Mutex<[Key: ContinuousClock.Instant]>([:])
    private let tests: Coalescer<Key, Situation?>
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - now: The clock.
    ///   - test: Finds out what is wrong; nil where all is well.
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

    /// What is wrong now.
    ///
    /// - Throws: what the test throws; `CancellationError`.
    func trouble(with key: Key) async throws -> Situation? {
        let askedAt = now()
        if let good = goodAt.withLock({ $0[key] }), askedAt - good < Self.lifetime { return nil }
        let situation = try await tests.answer(for: key)
        // Trouble is asked about anew each time: whoever mends it need not wait for us.
        goodAt.withLock { $0[key] = situation == nil ? askedAt : nil }
        return situation
    }
}
