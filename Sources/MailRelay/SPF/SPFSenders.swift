/// The addresses that a stream's provider sends from, as stated or as listed in its policies.
struct SPFSenders {
    private(set) var networks: [IPNetwork] = []
    /// Whether mail may also come from other addresses, so that testing these networks is not conclusive.
    private(set) var isOpen = false
    /// The findings on the policies that were read.
    private(set) var findings: [Finding] = []

    /// The stated addresses, or those that the provider's includes list; if neither is stated, those of `tree`, the
    /// stream's own policy.
    static func of(
        _ stream: MailStream,
        _ tree: SPFTree,
        _ resolver: some Resolver,
        by deadline: ContinuousClock.Instant
    ) async -> Self {
        let (provider, domain) = (stream.provider, stream.envelopeDomain)
        guard provider.addresses.isEmpty else { return Self(networks: provider.addresses) }
        let followed = Set(tree.nodes.filter(\.isSending).map(\.domain))
        var senders = Self()
        for include in provider.includes {
            let listed = await SPFTreeReader(resolver).read(include, by: deadline)
            senders.tellOfGaps(listed, at: include, "the provider's policy")
            let networks = listed.nodes.flatMap(\.networks)
            senders.networks += networks
            guard networks.isEmpty else {
                senders.tellOfOpenTerms(listed, at: include, beside: followed)
                continue
            }
            senders.isOpen = true
            if let finding = withoutNetworks(listed, include) { senders.findings.append(finding) }
        }
        guard provider.includes.isEmpty else { return senders }
        senders.findings.append(
            Finding(
                .spfSenderUnstated,
                at: domain,
                "neither addresses nor an include of the provider were stated; the policy was tried with its own addresses"
            )
        )
        senders.tellOfGaps(tree, at: domain, "the policy")
        senders.networks = tree.nodes.flatMap(\.networks)
        senders.isOpen = true
        return senders
    }

    /// The finding that a provider's include lists no addresses; nil if the reason is reported already.
    ///
    /// The stream's policy is not at fault: the include may be misspelt or out of use.
    private static func withoutNetworks(_ listed: SPFTree, _ include: DomainName) -> Finding? {
        if !listed.gaps.isEmpty || listed.isCut { return nil }
        let open = listed.nodes.flatMap(\.openTerms)
        guard open.isEmpty else {
            return Finding(
                .spfCannotEnumerate,
                at: include,
                "the provider's policy depends on the sender; state some of its addresses with the stream",
                seen: open
            )
        }
        var summary = "the provider's include lists no addresses"
        if case .none(let outcome) = listed.root.content {
            summary = "the provider's include publishes no policy; is the name right? \(SPFRemarks.reason(outcome))"
        }
        return Finding(.spfTargetWithoutPolicy, .unknown, at: include, summary)
    }

    /// Reports terms that permit more than the listed networks, unless the stream's own policy leads to the policies that
    /// hold them, in `followed`, and so permits the same senders.
    private mutating func tellOfOpenTerms(_ listed: SPFTree, at include: DomainName, beside followed: Set<DomainName>) {
        let open = listed.nodes.filter { !followed.contains($0.domain) }.flatMap(\.openTerms)
        guard !open.isEmpty else { return }
        findings.append(
            Finding(
                .spfCannotEnumerate,
                at: include,
                "part of the provider's policy depends on the sender; only the addresses that it lists were tried",
                seen: open
            )
        )
    }

    /// Reports lookups without an answer, which leave the list of networks incomplete rather than empty.
    private mutating func tellOfGaps(_ tree: SPFTree, at subject: DomainName, _ name: String) {
        if let gap = tree.gaps.first {
            let isWhole = gap.question.name == tree.root.domain && gap.question.type == .txt
            let what = isWhole ? "\(name) could not be read" : "part of \(name) could not be read, \(gap.question)"
            findings.append(
                Finding(
                    .spfUnknown,
                    at: subject,
                    "\(what): \(gap.outcome)",
                    seen: isWhole ? [] : tree.gaps.map { "\($0.question): \($0.outcome)" }
                )
            )
        }
        if tree.isCut {
            findings.append(
                Finding(
                    .checkCut,
                    at: subject,
                    "\(name) leads to more policies and names than are asked for; its ranges are not all known"
                )
            )
        }
    }
}
