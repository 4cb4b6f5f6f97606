import HTTPCalls
import Logging
import Metrics
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Apple's signing keys, fetched on demand, shared by all callers, and kept while Apple is down.
package final class AppleKeys: Sendable {
    /// How long one fetch may take, including its retries.
    package static let longestFetch = Duration.seconds(10)

    private let address: ServiceAddress
    private let caller: HTTPCaller
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let cache = Mutex(KeyCache())
    private let flight = SharedFlight<Void>()

    init(address: ServiceAddress, caller: HTTPCaller, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.address = address
        self.caller = caller
        self.logger = logger
        self.now = now
    }

    /// The newest key set, and whether a missing key can be trusted to be missing.
    struct Lookup: Sendable {
        /// The newest set; nil if no fetch has succeeded.
        let set: AppleKeySet?
        /// Whether the set was fetched so long after the token arrived that a key missing from the set is not Apple's.
        ///
        /// Otherwise, Apple may have rotated its keys and the new one may not have reached every cache yet.
        let isConclusive: Bool
    }

    /// Returns the newest key set available.
    ///
    /// A set that lacks `keyID` is fetched again, at most every thirty seconds and by one fetch at a time. A set that
    /// has the key but is an hour old is returned at once and refreshed in the background. Cancelling one waiting task
    /// does not stop the fetch for others.
    ///
    /// - Parameters:
    ///   - keyID: The key that is needed; nil for any set.
    ///   - arrived: When the token that needs the key arrived.
    /// - Returns: The set, which may still lack the key.
    /// - Throws: `CancellationError`.
    func lookup(_ keyID: String? = nil, arrived: Date) async throws(CancellationError) -> Lookup {
        switch cache.withLock({ $0.decide(need: keyID, arrived: arrived, at: now()) }) {
        case .use(let lookup): return lookup
        case .refresh(let lookup):
            flight.start { [self] in await renew() }
            return lookup
        case .fetch:
            try await flight.join { [self] in await renew() }
            return cache.withLock { $0.lookup(arrived: arrived, at: now()) }
        }
    }

    private func renew() async {
        guard cache.withLock({ $0.begin(at: now()) }) else { return }
        let fetched = await fetch()
        cache.withLock { $0.finish(fetched) }
    }

    private func fetch() async -> AppleKeySet? {
        let call = HTTPCall(
            label: "apple.keys",
            method: .get,
            address: address,
            path: "/auth/keys",
            headers: [.init("Accept", "application/json")],
            deadline: Self.longestFetch,
            attemptTimeout: Self.longestFetch / 2,
            repetition: .always,
            maximumReplyBytes: 1 << 16
        )
        guard let outcome = try? await caller.perform(call) else { return nil }
        if case .reply(let reply) = outcome, reply.status == 200, let set = AppleKeySet(jwks: reply.body) { return set }
        let age = cache.withLock { $0.age(at: now()) }
        Counter(label: "apple_keys_fetch_failures_total").increment()
        logger.warning(
            "Apple's signing keys could not be fetched",
            metadata: ["outcome": "\(outcome)", "seconds_since_last_good": "\(age.map { Int($0) } ?? -1)"]
        )
        return nil
    }
}
