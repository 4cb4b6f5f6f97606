#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Stops calls that can only fail, and probes by itself whether they would succeed again.
///
/// A value type: the caller supplies the time and acts on the decisions. The holder of a permit must use it to report
/// the outcome of the call, or return it with ``abandon(_:at:)``.
package struct CircuitBreaker: Sendable, Hashable {
    /// When the breaker opens and for how long.
    package struct Policy: Sendable, Hashable {
        /// The number of consecutive failures that opens the breaker.
        var failuresToOpen: Int
        /// The first pause; it doubles each time a probe fails.
        var firstCooldown: Duration
        /// The longest pause.
        var longestCooldown: Duration
        /// The time after which a probe without a report counts as lost.
        var probeTimeout: Duration

        /// Creates a policy; the defaults fit rejected credentials, which only a person can fix.
        package init(
            failuresToOpen: Int = 1,
            firstCooldown: Duration = .seconds(30),
            longestCooldown: Duration = .seconds(1800),
            probeTimeout: Duration = .seconds(60)
        ) {
            self.failuresToOpen = failuresToOpen
            self.firstCooldown = firstCooldown
            self.longestCooldown = longestCooldown
            self.probeTimeout = probeTimeout
        }
    }

    /// The state of the breaker.
    package enum State: Sendable, Hashable {
        /// Calls are admitted; enough failures lead to open.
        case closed(failures: Int)
        /// Calls are refused until the given time, then a probe leads to half-open.
        case open(until: Date, cooldown: Duration)
        /// One probe is in flight; its outcome leads to closed or open.
        case halfOpen(since: Date, cooldown: Duration)
    }

    /// The decision on a call that wants to start.
    package enum Admission: Sendable, Hashable {
        /// The call may start.
        case proceed(Permit)
        /// First probe whether the service has recovered, with a call that has no side effects.
        case probe(Permit)
        /// The call must not start before the given time.
        case refuse(until: Date)
    }

    /// The right to report an outcome, valid only for the state it was issued in, so that a late report cannot affect a
    /// later state.
    package struct Permit: Sendable, Hashable {
        fileprivate let epoch: Int
    }

    /// The current state.
    package private(set) var state: State = .closed(failures: 0)
    private let policy: Policy
    private var epoch = 0

    /// Creates a closed breaker.
    package init(policy: Policy = Policy()) {
        self.policy = policy
    }

    /// Decides whether a call may start.
    package mutating func admit(at now: Date) -> Admission {
        switch state {
        case .closed:
            return .proceed(Permit(epoch: epoch))
        case .open(let until, let cooldown):
            // If the clock was set back, the breaker must not stay open for longer than its cooldown.
            let remaining = until.timeIntervalSince(now)
            guard remaining <= 0 || remaining > cooldown / .seconds(1) else { return .refuse(until: until) }
            return startProbe(at: now, cooldown: cooldown)
        case .halfOpen(let since, let cooldown):
            let elapsed = now.timeIntervalSince(since)
            guard elapsed >= 0, elapsed < policy.probeTimeout / .seconds(1) else {
                return startProbe(at: now, cooldown: cooldown)
            }
            return .refuse(until: since.addingTimeInterval(policy.probeTimeout / .seconds(1)))
        }
    }

    /// Reports a successful call.
    ///
    /// - Returns: Whether the report counts; a late one does not.
    @discardableResult
    package mutating func succeed(_ permit: Permit) -> Bool {
        guard permit.epoch == epoch else { return false }
        if case .closed(failures: 0) = state { return true }
        if case .halfOpen = state { epoch += 1 }
        state = .closed(failures: 0)
        return true
    }

    /// Reports a failure of the kind that the breaker counts.
    ///
    /// - Returns: Whether the report counts; a late one does not.
    @discardableResult
    package mutating func fail(_ permit: Permit, at now: Date) -> Bool {
        guard permit.epoch == epoch else { return false }
        switch state {
        case .closed(let failures):
            guard failures + 1 >= policy.failuresToOpen else {
                state = .closed(failures: failures + 1)
                return true
            }
            open(at: now, cooldown: policy.firstCooldown)
        case .halfOpen(_, let cooldown):
            open(at: now, cooldown: min(cooldown * 2, policy.longestCooldown))
        case .open:
            break
        }
        return true
    }

    /// Returns a permit without a verdict, because the call was cancelled or the service could not be reached.
    ///
    /// A probe without a verdict opens the breaker again for the same pause as before.
    package mutating func abandon(_ permit: Permit, at now: Date) {
        guard permit.epoch == epoch, case .halfOpen(_, let cooldown) = state else { return }
        open(at: now, cooldown: cooldown)
    }

    /// Opens the breaker on the finding of another process; an open or half-open breaker does not change.
    ///
    /// - Parameters:
    ///   - until: When a probe is due; if in the past, the next call probes.
    ///   - now: The current time.
    mutating func trip(until: Date, at now: Date) {
        guard case .closed = state else { return }
        epoch += 1
        let remaining = Duration.seconds(max(0, until.timeIntervalSince(now)))
        state = .open(until: until, cooldown: max(policy.firstCooldown, remaining))
    }

    /// Closes the breaker on the finding of another process.
    mutating func reset() {
        epoch += 1
        state = .closed(failures: 0)
    }

    private mutating func startProbe(at now: Date, cooldown: Duration) -> Admission {
        epoch += 1
        state = .halfOpen(since: now, cooldown: cooldown)
        return .probe(Permit(epoch: epoch))
    }

    private mutating func open(at now: Date, cooldown: Duration) {
        epoch += 1
        state = .open(until: now.addingTimeInterval(cooldown / .seconds(1)), cooldown: cooldown)
    }
}
