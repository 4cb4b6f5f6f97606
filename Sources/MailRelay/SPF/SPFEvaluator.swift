/// Evaluates SPF for one sender (RFC 7208, 4: `check_host`).
package final class SPFEvaluator<Source: Resolver>: Sendable {
    let resolver: Source
    let receiver: [UInt8]
    private let isTracing: Bool

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
        guard let domain = Self.usableDomain(query.senderDomain) else {
            return SPFEvaluation(.none, problem: .unusableDomain(query.senderDomain))
        }
        var memory = SPFMemory()
        var tracesNow = false
        while true {
            do {
                let evaluation = try evaluation(of: query, domain, timestamp: timestamp, tracing: tracesNow, &memory)
                guard isTracing, !tracesNow else { return evaluation }
                // The steps are recorded once, when all answers are there, and not with each answer that is waited for.
                tracesNow = true
            } catch {
                memory.answers[error.question] = await resolver.lookup(error.question, by: deadline)
                memory.isTimeUp = ContinuousClock.now >= deadline
            }
        }
    }

    /// Evaluates the sender's policy from what is at hand; throws the first question that must be waited for.
    private func evaluation(
        of query: SPFQuery,
        _ domain: DomainName,
        timestamp: Int64,
        tracing: Bool,
        _ memory: inout SPFMemory
    ) throws(SPFUnanswered) -> SPFEvaluation {
        var run = SPFRun(self, query, timestamp: timestamp, tracing: tracing, memory)
        defer { memory = run.memory }
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
