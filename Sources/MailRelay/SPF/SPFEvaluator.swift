/// Evaluates SPF for one sender (RFC 7208, 4: `check_host`).
package final class SPFEvaluator<Source: Resolver>: Sendable {
    let resolver: Source
    let receiver: [UInt8]
    private let isTracing: Bool

    /// The most terms that may cause lookups (RFC 7208, 4.6.4).
    static var termLimit: Int { 10 }
    /// The most void lookups (RFC 7208, 4.6.4).
    static var voidLimit: Int { 2 }
    /// The most mail exchangers of one `mx`, and the most reverse names that are checked.
    static var nameLimit: Int { 10 }

    /// An evaluator that asks `resolver`.
    ///
    /// - Parameters:
    ///   - resolver: answers the lookups.
    ///   - receiver: the value of the `r` macro in explanations.
    ///   - tracing: whether to record the steps, which takes time.
    package init(_ resolver: Source, receiver: String = "unknown", tracing: Bool = false) {
        self.resolver = resolver
        self.receiver = Array(receiver.utf8)
        self.isTracing = tracing
    }

    /// Evaluates the sender's policy without waiting beyond `deadline`; never throws.
    ///
    /// After the deadline, answers at hand still count: the result is "temperror" only if a needed answer is missing.
    ///
    /// - Parameters:
    ///   - query: the sender.
    ///   - deadline: the time at which pending answers count as timed out.
    ///   - timestamp: the value of the `t` macro in explanations, in seconds since 1970.
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
                // The trace is recorded in one last run with all answers, not in each run that stops for an answer.
                run.isTracing = true
            } catch {
                let outcome = await resolver.lookup(error.question, by: deadline)
                run.remember(outcome, of: error.question, isTimeUp: ContinuousClock.now >= deadline)
            }
        }
    }
}
