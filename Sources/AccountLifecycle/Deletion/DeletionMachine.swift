#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Decides from facts alone what happens next to a deletion request.
///
/// Nothing here reads a clock, a table or the network: the driver gathers ``DeletionFacts``, does what ``next(_:)``
/// returns, and asks again. A process may therefore die at any instant, and the next one decides the same from what was
/// recorded.
package enum DeletionMachine {
    /// The decision about a request.
    package enum Decision: Sendable, Hashable {
        /// The request has ended; nothing is left to do.
        case end
        /// Record this state, and decide again at the given time.
        case wait(DeletionState, Situation?, until: Date)
        /// Take this step, and record this state while it runs.
        case perform(DeletionStep, DeletionState)
    }

    /// The minimum time that a preflight stays valid, since what it checked may change.
    ///
    /// A preflight that took longer stays valid for as long as it took: on a slow database the lock-out is slow to
    /// begin as well, and would otherwise never find a preflight that is still valid.
    static let preflightLasts = Duration.seconds(60)

    /// How often a request that waits for people or brakes is reconsidered without being woken.
    package static let lookAgainAfter = Duration.seconds(300)

    /// How often a request whose user id now belongs to another account is reconsidered.
    static let lookAtOtherAccountAfter = Duration.seconds(3600)

    /// Returns the decision for a request with these facts.
    package static func next(_ facts: DeletionFacts) -> Decision {
        if facts.state.isFinal { return .end }
        guard facts.lockedOutAt != nil else { return beforeLockOut(facts) }
        return brake(facts) ?? afterLockOut(facts)
    }

    /// The decision of a brake on a request whose grace period is over, in order of precedence; nil without one.
    private static func brake(_ facts: DeletionFacts) -> Decision? {
        if facts.isOtherAccount {
            let later = facts.now.addingTimeInterval(lookAtOtherAccountAfter / .seconds(1))
            return .wait(.blocked, Situation(.otherAccount), until: later)
        }
        let later = facts.now.addingTimeInterval(lookAgainAfter / .seconds(1))
        if facts.isHeld { return .wait(.held, Situation(.legalHold), until: later) }
        if facts.isPaused { return .wait(.held, Situation(.paused), until: later) }
        return nil
    }

    private static func beforeLockOut(_ facts: DeletionFacts) -> Decision {
        if facts.now < facts.runAfter { return .wait(.grace, nil, until: facts.runAfter) }
        if let brake = brake(facts) { return brake }
        guard let preflight = facts.finished[.preflight],
            // A preflight that lies in the future, since the clock was set back, is not valid either.
            (.zero..<max(preflightLasts, facts.preflightTook))
                .contains(.seconds(facts.now.timeIntervalSince(preflight)))
        else { return .perform(.preflight, .requested) }
        return .perform(.lockOut, .requested)
    }

    private static func afterLockOut(_ facts: DeletionFacts) -> Decision {
        let cleaning: [DeletionStep] = [.revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .verify]
        for step in cleaning where facts.finished[step] == nil {
            return .perform(step, .running)
        }
        if facts.finished[.settle] == nil {
            guard let settleAfter = facts.settleAfter, facts.now >= settleAfter else {
                return .wait(.settling, nil, until: facts.settleAfter ?? facts.now)
            }
            return .perform(.settle, .settling)
        }
        return .perform(.receipt, .settling)
    }

    /// The step that follows a finished one if nothing else has happened; nil where new facts are needed to decide.
    ///
    /// Never the lock-out: its beginning must not be recorded on a guess.
    package static func likely(after step: DeletionStep, _ facts: DeletionFacts) -> (DeletionStep, DeletionState)? {
        var facts = facts
        facts.finished[step] = facts.now
        if step == .lockOut { facts.lockedOutAt = facts.now }
        guard step < .receipt, case .perform(let next, let state) = next(facts), next > .lockOut else { return nil }
        return (next, state)
    }

    /// The steps that are undone in the journal when a later step found work for an earlier one: that step and all that
    /// depend on it.
    ///
    /// The preflight and the lock-out stay done: they are never repeated once the account is locked out.
    package static func steps(toRepeatFrom step: DeletionStep) -> [DeletionStep] {
        DeletionStep.allCases.filter { $0 >= max(step, .revokeApple) && $0 < .receipt }
    }

    /// How long to wait before retrying a step after so many failures in a row: 30 seconds, doubling up to an hour.
    package static func delay(afterFailures failures: Int) -> Duration {
        let doublings = min(max(failures, 1) - 1, 7)
        return min(.seconds(30) * (1 << doublings), .seconds(3600))
    }
}
