/// A resolver that answers as if a domain had published another policy.
struct AmendedPolicy<Upstream: Resolver>: Resolver {
    private let amended: Question
    private let answer: LookupOutcome
    private let upstream: Upstream

    /// Answers with `policy` for `domain`, and from another resolver for all other questions.
    init(_ policy: String, of domain: DomainName, before upstream: Upstream) {
        amended = Question(domain, .txt)
        answer = .records(LookupOutcome.Answer(records: [.text([Array(policy.utf8)])], ttl: 0))
        self.upstream = upstream
    }

    func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        if question == amended { return answer }
        return await upstream.lookup(question, by: deadline)
    }

    func outcomeAtHand(_ question: Question) -> LookupOutcome? {
        question == amended ? answer : upstream.outcomeAtHand(question)
    }
}
