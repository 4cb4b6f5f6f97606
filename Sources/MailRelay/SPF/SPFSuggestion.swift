/// Suggests the policy that a stream's envelope domain should publish.
enum SPFSuggestion {
    /// The policy with the provider's includes or addresses inserted before "all", or a new policy; nil if nothing is
    /// missing.
    static func publication(for stream: MailStream, amending record: SPFRecord?) -> Finding.Publication? {
        let name = stream.envelopeDomain.description
        var terms = stream.provider.includes.map { "include:\($0)" }
        if terms.isEmpty {
            terms = stream.provider.addresses.map { network in
                switch network {
                case .v4: "ip4:\(network)"
                case .v6: "ip6:\(network)"
                }
            }
        }
        guard !terms.isEmpty else { return nil }
        guard let record else {
            // Other senders of the domain are not known. "-all" would have their mail refused, although nothing refuses
            // it so far.
            let value = (["v=spf1"] + terms + ["~all"]).joined(separator: " ")
            return Finding.Publication(type: "TXT", name: name, value: value)
        }
        var present = record.directives.map { record.shown($0) }
        terms.removeAll { present.contains($0) }
        guard !terms.isEmpty else { return nil }
        let position = record.directives.firstIndex { $0.mechanism == .all } ?? present.count
        present.insert(contentsOf: terms, at: position)
        if let redirect = record.redirect { present.append("redirect=\(record.shown(redirect))") }
        if let explanation = record.explanation { present.append("exp=\(record.shown(explanation))") }
        let value = (["v=spf1"] + present).joined(separator: " ")
        return Finding.Publication(type: "TXT", name: name, value: value)
    }

    /// The problem that would make a policy a permerror for one of these senders; nil if there is none.
    static func problem(
        with policy: String,
        of domain: DomainName,
        for senders: [IPAddress],
        _ resolver: some Resolver,
        by deadline: ContinuousClock.Instant
    ) async -> SPFProblem? {
        let evaluator = SPFEvaluator(AmendedPolicy(policy, of: domain, before: resolver))
        for address in senders {
            let query = SPFQuery(address: address, domain: domain, helo: domain)
            let evaluation = await evaluator.evaluate(query, by: deadline)
            if evaluation.result == .permerror { return evaluation.problem }
        }
        return nil
    }
}
