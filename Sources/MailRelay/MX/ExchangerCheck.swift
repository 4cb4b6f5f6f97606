/// Checks whether the domains of a stream accept mail: bounces go to the envelope domain, replies to the From domain.
struct ExchangerCheck<Source: Resolver> {
    private let resolver: Source

    init(_ resolver: Source) {
        self.resolver = resolver
    }

    /// The findings for both domains, and whether the envelope domain exists.
    func run(
        _ stream: MailStream,
        by deadline: ContinuousClock.Instant
    ) async -> (sender: SenderDomain, findings: [Finding]) {
        let envelope = await exchangers(of: stream.envelopeDomain, by: deadline)
        var findings = await check(stream.envelopeDomain, envelope, by: deadline)
        if stream.fromDomain != stream.envelopeDomain {
            let from = await exchangers(of: stream.fromDomain, by: deadline)
            findings += await check(stream.fromDomain, from, by: deadline)
        }
        return (Self.sender(envelope), findings)
    }

    private func exchangers(of domain: DomainName, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        await resolver.lookup(Question(domain, .mx), by: deadline)
    }

    private static func sender(_ exchangers: LookupOutcome) -> SenderDomain {
        switch exchangers {
        case .records, .noData: .exists
        case .nxDomain: .missing
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: .unknown
        }
    }

    private func check(
        _ domain: DomainName,
        _ outcome: LookupOutcome,
        by deadline: ContinuousClock.Instant
    ) async -> [Finding] {
        let findings = await judge(outcome, of: domain, by: deadline)
        // No record can exist beside an alias, so only the owner of its target can change anything.
        guard let alias = outcome.chain.last else { return findings }
        return findings.map { $0.adding("the domain is an alias of \(alias)") }
    }

    private func judge(
        _ outcome: LookupOutcome,
        of domain: DomainName,
        by deadline: ContinuousClock.Instant
    ) async -> [Finding] {
        switch outcome {
        case .records(let answer):
            return await judge(answer.records, of: domain, by: deadline)
        case .nxDomain:
            return [Finding(.nameMissing, at: domain, "the domain does not exist")]
        case .noData:
            return await implicit(domain, by: deadline)
        case .serverFailure, .timeout, .refused, .unreachable, .badReply:
            return [Finding(.mxUnknown, .advice, at: domain, "the mail exchangers could not be read: \(outcome)")]
        }
    }

    /// Without an MX record, mail goes to the address of the name itself (RFC 5321, 5.1).
    private func implicit(_ domain: DomainName, by deadline: ContinuousClock.Instant) async -> [Finding] {
        switch await hasAddress(domain, by: deadline) {
        case true: [Finding(.mxImplicit, at: domain, "the domain has no mail exchanger; mail goes to its own address")]
        case false:
            [Finding(.mxNone, at: domain, "the domain has neither a mail exchanger nor an address: it accepts no mail")]
        case nil: [Finding(.mxUnknown, .advice, at: domain, "whether the domain has an address could not be told")]
        }
    }

    private func judge(
        _ records: [RecordData],
        of domain: DomainName,
        by deadline: ContinuousClock.Instant
    ) async -> [Finding] {
        let hosts = records.compactMap { if case .mx(_, let exchange) = $0 { exchange } else { nil } }
        let seen = records.map(\.description)
        let real = hosts.filter { !$0.isRoot }
        guard !real.isEmpty else {
            return [Finding(.mxNull, at: domain, "the domain declares that it accepts no mail (null MX)", seen: seen)]
        }
        var findings: [Finding] = []
        if real.count < hosts.count {
            findings.append(
                Finding(.mxNullBesideOthers, at: domain, "a null MX is published beside other exchangers", seen: seen)
            )
        }
        var dead: [DomainName] = []
        var unknown: [DomainName] = []
        for host in real {
            if IPAddress(host.description) != nil {
                findings.append(
                    Finding(.mxAddress, at: domain, "the exchanger \(host) is an address, expected a name", seen: seen)
                )
                dead.append(host)
                continue
            }
            let v4 = await resolver.lookup(Question(host, .a), by: deadline)
            if let target = v4.chain.last {
                findings.append(
                    Finding(.mxAlias, at: domain, "the exchanger \(host) is an alias of \(target)", seen: seen)
                )
            }
            switch await hasAddress(host, by: deadline) {
            case true: break
            case false: dead.append(host)
            case nil: unknown.append(host)
            }
        }
        if dead.count == real.count {
            findings.append(Finding(.mxDead, at: domain, "no exchanger of the domain has an address", seen: seen))
        } else if !dead.isEmpty {
            let names = dead.map(\.description).joined(separator: ", ")
            findings.append(
                Finding(.mxDead, .advice, at: domain, "these exchangers have no address: \(names)", seen: seen)
            )
        }
        if !unknown.isEmpty {
            let names = unknown.map(\.description).joined(separator: ", ")
            findings.append(
                Finding(.mxUnknown, .advice, at: domain, "the address of these exchangers could not be read: \(names)")
            )
        }
        return findings
    }

    private func hasAddress(_ name: DomainName, by deadline: ContinuousClock.Instant) async -> Bool? {
        let v4 = await resolver.lookup(Question(name, .a), by: deadline)
        if case .records = v4 { return true }
        let v6 = await resolver.lookup(Question(name, .aaaa), by: deadline)
        if case .records = v6 { return true }
        return v4.isTemporary || v6.isTemporary ? nil : false
    }
}
