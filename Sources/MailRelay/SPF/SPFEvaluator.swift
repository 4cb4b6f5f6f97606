/// Evaluates SPF for one sender (RFC 7208, 4: `check_host`).
package struct SPFEvaluator<Source: Resolver>: Sendable {
    private let resolver: Source
    private let receiver: String
    private let tracing: Bool

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
        self.receiver = receiver
        self.tracing = tracing
    }

    /// Evaluates the sender's policy; past `deadline` the result is "temperror".
    ///
    /// Never throws. `timestamp` is what the `t` macro of explanations stands for, in seconds since 1970.
    package func evaluate(
        _ query: SPFQuery,
        by deadline: ContinuousClock.Instant,
        timestamp: Int64 = 0
    ) async -> SPFEvaluation {
        let values = SPFMacro.Values(
            localPart: query.localPart,
            senderDomain: query.senderDomain,
            domain: query.senderDomain,
            address: query.address,
            helo: query.helo,
            receiver: Array(receiver.utf8),
            timestamp: timestamp
        )
        var run = SPFRun(resolver: resolver, deadline: deadline, tracing: tracing, values: values)
        guard let domain = Self.usableDomain(query.senderDomain) else {
            return run.finished(.none, problem: .unusableDomain(PrintableBytes.escaped(query.senderDomain)))
        }
        let verdict = await run.check(domain, depth: 0)
        var explanation: String?
        if verdict.result == .fail, let spec = verdict.explanation {
            explanation = await run.explanation(spec, domain: verdict.domain)
        }
        return run.finished(verdict.result, explanation: explanation, match: verdict.match, problem: verdict.problem)
    }

    /// A full name that a policy could belong to: at least two labels, no address literal (RFC 7208, 4.3).
    private static func usableDomain(_ text: [UInt8]) -> DomainName? {
        guard text.first != UInt8(ascii: "["), let name = try? DomainName(dotted: text), name.labelCount > 1 else {
            return nil
        }
        return name
    }
}
