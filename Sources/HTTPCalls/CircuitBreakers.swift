#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One circuit breaker per key, such as an Apple client id.
package struct CircuitBreakers: Sendable {
    private let policy: CircuitBreaker.Policy
    private var breakers: [String: CircuitBreaker] = [:]

    /// Creates breakers that are all closed.
    package init(policy: CircuitBreaker.Policy = .init()) {
        self.policy = policy
    }

    /// The state of the breaker for a key.
    package func state(of key: String) -> CircuitBreaker.State {
        breakers[key]?.state ?? .closed(failures: 0)
    }

    /// Decides whether a call may start; see ``CircuitBreaker/admit(at:)``.
    package mutating func admit(_ key: String, at now: Date) -> CircuitBreaker.Admission {
        breakers[key, default: CircuitBreaker(policy: policy)].admit(at: now)
    }

    /// Reports a success; see ``CircuitBreaker/succeed(_:)``.
    @discardableResult
    package mutating func succeed(_ key: String, _ permit: CircuitBreaker.Permit) -> Bool {
        breakers[key]?.succeed(permit) ?? false
    }

    /// Reports a failure; see ``CircuitBreaker/fail(_:at:)``.
    @discardableResult
    package mutating func fail(_ key: String, _ permit: CircuitBreaker.Permit, at now: Date) -> Bool {
        breakers[key]?.fail(permit, at: now) ?? false
    }

    /// Returns a permit without a verdict; see ``CircuitBreaker/abandon(_:at:)``.
    package mutating func abandon(_ key: String, _ permit: CircuitBreaker.Permit, at now: Date) {
        breakers[key]?.abandon(permit, at: now)
    }

    /// Opens the breaker for a key; see ``CircuitBreaker/trip(until:at:)``.
    package mutating func trip(_ key: String, until: Date, at now: Date) {
        breakers[key, default: CircuitBreaker(policy: policy)].trip(until: until, at: now)
    }

    /// Closes the breaker for a key; see ``CircuitBreaker/reset()``.
    package mutating func reset(_ key: String) {
        breakers[key]?.reset()
    }
}
