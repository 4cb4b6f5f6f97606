/// Whether the envelope domain is an alias of what the provider expects.
struct ReturnPathCheck<Source: Resolver> {
    private let stream: MailStream
    private let resolver: Source

    init(_ stream: MailStream, _ resolver: Source) {
        self.stream = stream
        self.resolver = resolver
    }

    func run(by deadline: ContinuousClock.Instant) async -> [Finding] {
        let domain = stream.envelopeDomain
        guard let expected = stream.provider.returnPathTarget else { return [] }
        let outcome = await resolver.lookup(Question(domain, .cname), by: deadline)
        var chain = outcome.chain
        if case .records(let answer) = outcome {
            chain += answer.records.compactMap { if case .cname(let name) = $0 { name } else { nil } }
        }
        guard !outcome.isTemporary, !chain.contains(expected) else { return [] }
        return [
            Finding(
                .envelopeTarget,
                at: domain,
                "the provider expects the envelope domain to be an alias of \(expected)",
                seen: chain.map(\.description),
                publish: Finding.Publication(type: "CNAME", name: domain.description, value: expected.description)
            )
        ]
    }
}
