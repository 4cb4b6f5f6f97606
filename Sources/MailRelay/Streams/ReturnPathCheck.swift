/// Checks whether the envelope domain is the alias that the provider requires.
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
        // Any alias in the chain may match, as for a selector; the TXT query costs nothing extra, since the policy is
        // needed anyway.
        let outcome = await resolver.lookup(Question(domain, .txt), by: deadline)
        guard !outcome.isTemporary, !outcome.chain.contains(expected) else { return [] }
        return [
            Finding(
                .envelopeTarget,
                at: domain,
                "the provider expects the envelope domain to be an alias of \(expected)",
                seen: outcome.chain.map(\.description),
                publish: Finding.Publication(type: "CNAME", name: domain.description, value: expected.description)
            )
        ]
    }
}
