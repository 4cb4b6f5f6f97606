/// Someone who answers questions about DNS.
///
/// The one seam between the evaluators and the world: the real resolver, the cache and the stubs of the tests sit
/// behind it.
package protocol Resolver: Sendable {
    /// Asks one question and waits for its outcome, at the latest until `deadline`; never throws.
    ///
    /// Past the deadline, and when the calling task is cancelled, the outcome is ``LookupOutcome/timeout``.
    func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome

    /// The outcome where it is at hand, so that nobody waits for it; nil sends the caller to ``lookup(_:by:)``.
    func outcomeAtHand(_ question: Question) -> LookupOutcome?
}

extension Resolver {
    /// Nothing is at hand with a resolver that keeps nothing.
    package func outcomeAtHand(_ question: Question) -> LookupOutcome? { nil }
}
