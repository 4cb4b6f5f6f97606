/// Evaluates SPF for one sender (RFC 7208, 4: `check_host`).
package final class SPFEvaluator<Source: Resolver>: Sendable {
    let resolver: Source
    let receiver: [UInt8]
    let isTracing: Bool

    /// The most terms that may cause lookups (RFC 7208, 4.6.4).
    package static var termLimit: Int { 10 }
    /// The most lookups that may find nothing.
    package static var voidLimit: Int { 2 }
    /// The most mail exchangers of one `mx`, and the most reverse names looked at.
    package static var nameLimit: Int { 10 }

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

    /// Evaluates the sender's policy; past `deadline` the result is "temperror".
    ///
    /// Never throws. `timestamp` is what the `t` macro of explanations stands for, in seconds since 1970.
    @inline(__always)
    package func evaluate(
        _ query: SPFQuery,
        by deadline: ContinuousClock.Instant,
        timestamp: Int64 = 0
    ) async -> SPFEvaluation {
        var answers: [Question: LookupOutcome] = [:]
        while true {
            do {
                return try evaluation(of: query, timestamp: timestamp, answers)
            } catch {
                answers[error.question] = await resolver.lookup(error.question, by: deadline)
            }
        }
    }

    /// Evaluates the sender's policy from what is at hand; throws the first question that must be waited for.
    private func evaluation(
        of query: SPFQuery,
        timestamp: Int64,
        _ answers: [Question: LookupOutcome]
    ) throws(SPFUnanswered) -> SPFEvaluation {
        guard let domain = Self.usableDomain(query.senderDomain) else {
            return SPFEvaluation(.none, problem: .unusableDomain(query.senderDomain))
        }
        var run = SPFRun(self, query, timestamp: timestamp, answers)
        return try run.evaluation(domain)
    }

    /// A full name that a policy could belong to: at least two labels, no address literal (RFC 7208, 4.3).
    private static func usableDomain(_ text: ArraySlice<UInt8>) -> DomainName? {
        guard text.first != UInt8(ascii: "["), let name = try? DomainName(dotted: text), name.labelCount > 1 else {
            return nil
        }
        return name
    }
}
