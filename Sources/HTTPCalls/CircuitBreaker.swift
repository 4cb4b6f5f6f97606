#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Stops calls that can only fail, and probes by itself whether they would succeed again.
///
/// A value type: the caller supplies the time and acts on the decisions. The holder of a permit must use it to report
/// the outcome of the call, or return it with ``abandon(_:at:)``. A single failure opens it: it is meant for rejected
/// credentials, which only a person can fix.
package struct CircuitBreaker: Sendable, Hashable {
    /// The first pause; it doubles each time a probe fails.
    private static let firstCooldown = Duration.seconds(30)
    /// The longest pause.
    private static let longestCooldown = Duration.seconds(1800)
    /// The time after which a probe without a report counts as lost.
    private static let probeTimeout: TimeInterval = 60

    /// The state of the breaker.
    package enum State: Sendable, Hashable {
        /// Calls are admitted; a failure leads to open.
        case closed
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
    package private(set) var state = State.closed
    private var epoch = 0

    /// Creates a closed breaker.
    package init() {}

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
            guard elapsed >= 0, elapsed < Self.probeTimeout else { return startProbe(at: now, cooldown: cooldown) }
            return .refuse(until: since.addingTimeInterval(Self.probeTimeout))
        }
    }

    /// Reports a successful call.
    ///
    /// - Returns: Whether the report counts; a late one does not.
    @discardableResult
    package mutating func succeed(_ permit: Permit) -> Bool {
        guard permit.epoch == epoch else { return false }
        if case .halfOpen = state { epoch += 1 }
        state = .closed
        return true
    }

    /// Reports a failure of the kind that the breaker counts.
    ///
    /// - Returns: Whether the report counts; a late one does not.
    @discardableResult
    package mutating func fail(_ permit: Permit, at now: Date) -> Bool {
        guard permit.epoch == epoch else { return false }
        switch state {
        case .closed: open(at: now, cooldown: Self.firstCooldown)
        case .halfOpen(_, let cooldown): open(at: now, cooldown: min(cooldown * 2, Self.longestCooldown))
        case .open: break
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
    package mutating func trip(until: Date, at now: Date) {
        guard case .closed = state else { return }
        epoch += 1
        let remaining = Duration.seconds(max(0, until.timeIntervalSince(now)))
        state = .open(until: until, cooldown: max(Self.firstCooldown, remaining))
    }

    /// Closes the breaker on the finding of another process.
    package mutating func reset() {
        epoch += 1
        state = .closed
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
