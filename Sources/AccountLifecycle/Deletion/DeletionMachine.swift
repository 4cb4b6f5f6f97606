#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Decides what happens next to a deletion request, from facts alone.
///
/// Nothing here reads a clock, a table or the network: the shell gathers ``DeletionFacts``, does what ``next(_:)``
/// says, and asks again. So a process may die at any instant, and the next one decides the same from what was recorded.
package enum DeletionMachine {
    /// What to do now.
    package enum Decision: Sendable, Hashable {
        /// The request has ended; nothing is left to do.
        case end
        /// Record this state, and look again at the given time.
        case wait(DeletionState, Situation?, until: Date)
        /// Take this step, and record the state while it runs.
        case perform(DeletionStep, DeletionState)
    }

    /// How long a preflight holds at least: what it saw may change.
    ///
    /// It holds as long as it took itself where that is longer: on a slow database the lock-out is slow to begin, too,
    /// and would never find one that is fresh.
    static let preflightLasts = Duration.seconds(60)

    /// How often a request that waits for people or brakes looks again by itself.
    package static let lookAgainAfter = Duration.seconds(300)

    /// How often a request whose account is another one by now looks again.
    static let lookAtOtherAccountAfter = Duration.seconds(3600)

    /// What to do now with a request of which these facts hold.
    package static func next(_ facts: DeletionFacts) -> Decision {
        if facts.state.isFinal { return .end }
        guard facts.lockedOutAt != nil else { return beforeLockOut(facts) }
        return brake(facts) ?? afterLockOut(facts)
    }

    /// What stops a request wherever it is past its grace, the strongest first.
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
            // A clock that was set back makes none fresh.
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

    /// What follows a step that is done unless something has happened meanwhile; nil where new facts have to say it.
    ///
    /// Never the lock-out: that it has begun is not to be recorded on a guess.
    package static func likely(after step: DeletionStep, _ facts: DeletionFacts) -> (DeletionStep, DeletionState)? {
        var facts = facts
        facts.finished[step] = facts.now
        if step == .lockOut { facts.lockedOutAt = facts.now }
        guard step < .receipt, case .perform(let next, let state) = next(facts), next > .lockOut else { return nil }
        return (next, state)
    }

    /// What a step that found work for an earlier one takes back: that step and what rests on it.
    ///
    /// The preflight and the lock-out stay; they are never taken back once the account is locked out.
    package static func steps(toRepeatFrom step: DeletionStep) -> [DeletionStep] {
        DeletionStep.allCases.filter { $0 >= max(step, .revokeApple) && $0 < .receipt }
    }

    /// How long to wait before trying a step again that has failed so often in a row: half a minute, doubling up to an
    /// hour.
    package static func delay(afterFailures failures: Int) -> Duration {
        let doublings = min(max(failures, 1) - 1, 7)
        return min(.seconds(30) * (1 << doublings), .seconds(3600))
    }
}
