/// A source of answers to DNS questions.
///
/// This is the only seam between the evaluators and DNS: the real resolver, the cache and the stubs of the tests
/// conform to it.
package protocol Resolver: Sendable {
    /// Looks up one question and waits for its outcome, at the latest until `deadline`; never throws.
    ///
    /// If the deadline passes or the calling task is cancelled, the outcome is ``LookupOutcome/timeout``.
    func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome

    /// The outcome, if it is available without waiting; otherwise nil, and the caller uses ``lookup(_:by:)``.
    func outcomeAtHand(_ question: Question) -> LookupOutcome?
}

extension Resolver {
    /// Always nil: a resolver without a cache has nothing at hand.
    package func outcomeAtHand(_ question: Question) -> LookupOutcome? { nil }
}
