/// Evaluates SPF for one sender (RFC 7208, 4: `check_host`).
package final class SPFEvaluator<Source: Resolver>: Sendable {
    let resolver: Source
    let receiver: [UInt8]
    private let isTracing: Bool

    /// The most terms that may cause lookups (RFC 7208, 4.6.4).
    static var termLimit: Int { 10 }
    /// The most lookups that may find nothing.
    static var voidLimit: Int { 2 }
    /// The most mail exchangers of one `mx`, and the most reverse names looked at.
    static var nameLimit: Int { 10 }

    /// An evaluator that asks `resolver`.
    ///
    /// - Parameters:
    ///   - resolver: answers the lookups.
    ///   - receiver: what the `r` macro of explanations stands for.
    ///   - tracing: whether to record the steps; costs time.
    package init(_ resolver: Source, receiver: String = "unknown", tracing: Bool = false) {
        self.resolver = resolver
        self.receiver = Array(receiver.utf8)
        self.isTracing = tracing
    }

    /// Evaluates the sender's policy; past `deadline` nothing is waited for.
    ///
    /// Answers at hand count all the same: the result is "temperror" only where one is missing. Never throws.
    ///
    /// - Parameters:
    ///   - query: the sender.
    ///   - deadline: when an answer that is not there counts as not given.
    ///   - timestamp: what the `t` macro of explanations stands for, in seconds since 1970.
    /// - Returns: the result and what led to it.
    @inline(__always)
    package func evaluate(
        _ query: SPFQuery,
        by deadline: ContinuousClock.Instant,
        timestamp: Int64 = 0
    ) async -> SPFEvaluation {
        guard let domain = query.usableDomain else {
            return SPFEvaluation(.none, problem: .unusableDomain(query.senderDomain))
        }
        var run = SPFRun(self, query, timestamp: timestamp)
        while true {
            do {
                let evaluation = try run.evaluation(domain)
                guard isTracing, !run.isTracing else { return evaluation }
                // The steps are recorded once, when all answers are there, and not with each answer that is waited for.
                run.isTracing = true
            } catch {
                let outcome = await resolver.lookup(error.question, by: deadline)
                run.remember(outcome, of: error.question, isTimeUp: ContinuousClock.now >= deadline)
            }
        }
    }
}
