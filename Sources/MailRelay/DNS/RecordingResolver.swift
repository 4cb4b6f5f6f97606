import Synchronization

/// Records all questions and answers, for the raw part of a report.
package final class RecordingResolver<Upstream: Resolver>: Resolver {
    private let upstream: Upstream
    private let seen = Mutex<[Question: LookupOutcome]>([:])

    /// Creates a recorder in front of another resolver.
    package init(_ upstream: Upstream) {
        self.upstream = upstream
    }

    /// Looks the question up and records the outcome.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        let outcome = await upstream.lookup(question, by: deadline)
        seen.withLock { $0[question] = outcome }
        return outcome
    }

    /// Returns and records the outcome if it is at hand.
    package func outcomeAtHand(_ question: Question) -> LookupOutcome? {
        guard let outcome = upstream.outcomeAtHand(question) else { return nil }
        seen.withLock { $0[question] = outcome }
        return outcome
    }

    /// All questions so far with their outcomes, ordered by name and type.
    package var answers: [(question: Question, outcome: LookupOutcome)] {
        seen.withLock { $0 }
            .map { (question: $0.key, outcome: $0.value) }
            .sorted {
                ($0.question.name.description, $0.question.type.rawValue) < (
                    $1.question.name.description, $1.question.type.rawValue
                )
            }
    }
}
