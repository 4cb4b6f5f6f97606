import Synchronization

/// Answers each question once, however often and by however many tasks it is asked.
///
/// Made for one run of checks: an outcome stays as long as the resolver lives, failures included, so that a dead name
/// server costs its time-out once and not once for every record that leads to it.
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

    /// A cache before another resolver.
    package init(_ upstream: any Resolver) {
        self.upstream = upstream
    }

    /// Answers from the cache, waits for whoever is asking already, or asks.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        // Whether this task asks is decided under the lock, so that two never ask the same question at once.
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

    /// What has been answered already.
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
