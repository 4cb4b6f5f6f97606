import HTTPCalls
import Logging
import Metrics
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Apple's signing keys, fetched when needed, shared by all, and kept while Apple is down.
package final class AppleKeys: Sendable {
    private let address: ServiceAddress
    private let caller: HTTPCaller
    private let logger: Logger
    private let now: @Sendable () -> Date
    private let cache = Mutex(KeyCache())
    private let flight = SharedFlight<AppleKeySet?>()

    init(address: ServiceAddress, caller: HTTPCaller, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.address = address
        self.caller = caller
        self.logger = logger
        self.now = now
    }

    /// The newest set that can be had.
    ///
    /// A set that lacks `keyID` or is an hour old is fetched anew, at most every thirty seconds and once at a time.
    /// Cancelling the waiting task does not end the fetch for others.
    ///
    /// - Parameter keyID: The key that is needed; nil for any set.
    /// - Returns: The set, which may still lack the key; nil when none was ever fetched.
    /// - Throws: `CancellationError`.
    package func set(having keyID: String? = nil) async throws(CancellationError) -> AppleKeySet? {
        switch cache.withLock({ $0.decide(need: keyID, at: now()) }) {
        case .use(let set): return set
        case .fetch:
            return try await flight.join { [self] in
                let fetched = await fetch()
                return cache.withLock { cache in
                    cache.finish(fetched, at: now())
                    return cache.set
                }
            }
        }
    }

    private func fetch() async -> AppleKeySet? {
        let call = HTTPCall(
            label: "apple.keys",
            method: .get,
            address: address,
            path: "/auth/keys",
            headers: [.init("Accept", "application/json")],
            deadline: .seconds(10),
            attemptTimeout: .seconds(5),
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
