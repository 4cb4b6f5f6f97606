import Synchronization

/// Answers each question once, however often and by however many tasks it is asked.
///
/// A resolver is created for one run of checks. It keeps every outcome for its lifetime, including failures, so a dead
/// name server costs one time-out instead of one for every record that depends on it.
package final class CachingResolver: Resolver {
    private enum Entry {
        case known(LookupOutcome)
        case asked([CheckedContinuation<LookupOutcome, Never>])
    }

    private enum Step {
        case answer(LookupOutcome)
        case ask
        case wait
    }

    private let upstream: any Resolver
    private let entries = Mutex<[Question: Entry]>([:])

    /// Creates a cache in front of another resolver.
    package init(_ upstream: any Resolver) {
        self.upstream = upstream
    }

    /// Answers from the cache, joins a lookup in flight, or starts one.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        // The decision to query is made under the lock, so that two tasks never query the same question at once.
        let step = entries.withLock { entries -> Step in
            switch entries[question] {
            case .known(let outcome): return .answer(outcome)
            case .asked: return .wait
            case nil:
                entries[question] = .asked([])
                return .ask
            }
        }
        switch step {
        case .answer(let outcome): return outcome
        case .ask: return await ask(question, by: deadline)
        case .wait: break
        }
        return await withCheckedContinuation { continuation in
            let known = entries.withLock { entries -> LookupOutcome? in
                switch entries[question] {
                case .known(let outcome): return outcome
                case .asked(let waiting):
                    entries[question] = .asked(waiting + [continuation])
                    return nil
                case nil: return .timeout
                }
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    /// The outcome, if it is already cached.
    package func outcomeAtHand(_ question: Question) -> LookupOutcome? {
        entries.withLock { entries in
            guard case .known(let outcome)? = entries[question] else { return nil }
            return outcome
        }
    }

    private func ask(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        let outcome = await upstream.lookup(question, by: deadline)
        let waiting = entries.withLock { entries -> [CheckedContinuation<LookupOutcome, Never>] in
            defer { entries[question] = .known(outcome) }
            guard case .asked(let waiting)? = entries[question] else { return [] }
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
        return outcome
    }
}
