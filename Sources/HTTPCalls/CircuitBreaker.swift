#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Stops calls that can only fail, and finds out by itself when they would succeed again.
///
/// A value: it is told the time and decides. Whoever got a permit must report with it what came of the call, or give it
/// back with ``abandon(_:at:)``.
package struct CircuitBreaker: Sendable, Hashable {
    /// When to open and for how long.
    package struct Policy: Sendable, Hashable {
        /// Failures in a row that open the breaker.
        var failuresToOpen: Int
        /// The first pause; it doubles each time a probe fails.
        var firstCooldown: Duration
        /// The longest pause.
        var longestCooldown: Duration
        /// When a probe that nobody reported on counts as lost.
        var probeTimeout: Duration

        /// A policy; the defaults fit rejected credentials, which only a person can mend.
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

    /// Where the breaker stands.
    package enum State: Sendable, Hashable {
        /// Calls pass. Next: open.
        case closed(failures: Int)
        /// Calls are refused until then. Next: half-open.
        case open(until: Date, cooldown: Duration)
        /// One probe is under way. Next: closed or open.
        case halfOpen(since: Date, cooldown: Duration)
    }

    /// The answer to a call that wants to start.
    package enum Admission: Sendable, Hashable {
        /// Go on.
        case proceed(Permit)
        /// Find out first, with a call that costs nothing, whether things are well again.
        case probe(Permit)
        /// Not before then.
        case refuse(until: Date)
    }

    /// The right to report; good for the state it was given in, so that a straggler cannot decide about a later one.
    package struct Permit: Sendable, Hashable {
        fileprivate let epoch: Int
    }

    /// Where the breaker stands.
    package private(set) var state: State = .closed(failures: 0)
    private let policy: Policy
    private var epoch = 0

    /// A closed breaker.
    package init(policy: Policy = Policy()) {
        self.policy = policy
    }

    /// Asks whether a call may start.
    package mutating func admit(at now: Date) -> Admission {
        switch state {
        case .closed:
            return .proceed(Permit(epoch: epoch))
        case .open(let until, let cooldown):
            // A clock that was set back must not keep the breaker open for longer than it was meant to be.
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

    /// Reports that a call showed things to be well.
    ///
    /// - Returns: Whether the report counts: that of a straggler does not.
    @discardableResult
    package mutating func succeed(_ permit: Permit) -> Bool {
        guard permit.epoch == epoch else { return false }
        if case .closed(failures: 0) = state { return true }
        if case .halfOpen = state { epoch += 1 }
        state = .closed(failures: 0)
        return true
    }

    /// Reports that a call failed in the way the breaker watches for.
    ///
    /// - Returns: Whether the report counts: that of a straggler does not.
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

    /// Gives a permit back without a verdict: the call was cancelled or the service could not be reached.
    ///
    /// A probe that learned nothing leaves the breaker open for the same pause as before.
    package mutating func abandon(_ permit: Permit, at now: Date) {
        guard permit.epoch == epoch, case .halfOpen(_, let cooldown) = state else { return }
        open(at: now, cooldown: cooldown)
    }

    /// Opens by what another process found out; an open or half-open breaker stays as it is.
    ///
    /// - Parameters:
    ///   - until: When a probe is due; in the past, the next call probes.
    ///   - now: The moment.
    mutating func trip(until: Date, at now: Date) {
        guard case .closed = state else { return }
        epoch += 1
        let remaining = Duration.seconds(max(0, until.timeIntervalSince(now)))
        state = .open(until: until, cooldown: max(policy.firstCooldown, remaining))
    }

    /// Closes by what another process found out.
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
