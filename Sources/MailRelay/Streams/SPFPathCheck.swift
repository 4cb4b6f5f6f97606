/// Checks the SPF path: whether the provider may send for the envelope domain.
struct SPFPathCheck<Source: Resolver> {
    private let stream: MailStream
    private let resolver: Source
    private var findings: [Finding] = []
    /// The name that the envelope domain is, or has to be, an alias of; no record can exist beside an alias.
    private var alias: DomainName?

    /// The most addresses that are tested.
    private static var sampleLimit: Int { 256 }
    /// The longest time for the whole SPF check (RFC 7208, 4.6.4).
    private static var evaluationLimit: Duration { .seconds(20) }

    init(_ stream: MailStream, _ resolver: Source) {
        self.stream = stream
        self.resolver = resolver
    }

    private var domain: DomainName { stream.envelopeDomain }

    consuming func run(by deadline: ContinuousClock.Instant) async -> (PathVerdict, [Finding]) {
        let deadline = min(deadline, .now.advanced(by: Self.evaluationLimit))
        alias = stream.provider.returnPathTarget
        findings += await ReturnPathCheck(stream, resolver).run(by: deadline)
        let tree = await SPFTreeReader(resolver).read(domain, by: deadline)
        alias = await resolver.lookup(Question(domain, .txt), by: deadline).chain.last ?? alias
        let verdict: PathVerdict
        switch tree.root.content {
        case .policy(let record):
            findings += SPFRemarks.on(record, tree)
            await lookForRetiredType(by: deadline)
            verdict = await judge(tree, record, by: deadline)
        case .malformed(let error):
            findings.append(SPFRemarks.syntax(error, tree.root))
            verdict = .broken
        case .several(let count):
            findings.append(
                Finding(
                    .spfSeveral,
                    at: domain,
                    "the domain publishes \(count) SPF policies; merge them into one",
                    seen: tree.root.texts.filter { SPFRecord.isPolicy($0) }.map { PrintableBytes.escaped($0) }
                )
            )
            verdict = .broken
        case .none(let outcome):
            findings += SPFRemarks.missing(tree.root, outcome, alias: alias, suggestion: suggestion(amending: nil))
            verdict = .broken
        case .unknown(let outcome):
            findings.append(Finding(.spfUnknown, at: domain, "the SPF policy could not be read: \(outcome)"))
            verdict = .unknown
        case .loop:
            verdict = .unknown
        }
        return (verdict, findings)
    }

    // MARK: The verdict

    private mutating func judge(
        _ tree: SPFTree,
        _ record: SPFRecord,
        by deadline: ContinuousClock.Instant
    ) async -> PathVerdict {
        let senders = await SPFSenders.of(stream, tree, resolver, by: deadline)
        findings += senders.findings
        guard !senders.networks.isEmpty else {
            guard tree.letsNobodySend else { return .unknown }
            let seen = [PrintableBytes.escaped(tree.root.texts.first { SPFRecord.isPolicy($0) } ?? [])]
            findings.append(
                Finding(
                    .spfNotAuthorized,
                    at: domain,
                    "the policy lets nobody send" + SPFRemarks.place(alias),
                    seen: seen
                )
            )
            return .broken
        }
        let (samples, count) = Self.samples(of: senders.networks)
        if count > samples.count {
            findings.append(
                Finding(
                    .checkCut,
                    at: domain,
                    "\(samples.count) of \(count) addresses at the ends of the provider's ranges were tried"
                )
            )
        }
        let evaluator = SPFEvaluator(resolver)
        var results: [(address: IPAddress, evaluation: SPFEvaluation)] = []
        for address in samples {
            let query = SPFQuery(address: address, domain: domain, helo: domain)
            results.append((address, await evaluator.evaluate(query, by: deadline)))
        }
        let amendment = await amendment(of: record, for: results, by: deadline)
        let verdict = conclude(results, tree, amendment)
        return senders.isOpen && verdict != .broken ? .unknown : verdict
    }

    /// The first address of each range, then the last of each, or if these are too many, some of them at equal
    /// distances; and how many there are.
    private static func samples(of networks: [IPNetwork]) -> (addresses: [IPAddress], count: Int) {
        var seen: Set<IPAddress> = []
        let firsts = networks.map(\.first).filter { seen.insert($0).inserted }
        let lasts = networks.map(\.last).filter { seen.insert($0).inserted }
        let tried = firsts.spread(atMost: sampleLimit)
        return (tried + lasts.spread(atMost: sampleLimit - tried.count), seen.count)
    }

    private mutating func conclude(
        _ results: [(address: IPAddress, evaluation: SPFEvaluation)],
        _ tree: SPFTree,
        _ amendment: (publish: Finding.Publication?, obstacle: String)
    ) -> PathVerdict {
        let passed = results.filter { $0.evaluation.result == .pass }
        let failed = results.filter { $0.evaluation.result != .pass }
        let shown = [PrintableBytes.escaped(tree.root.texts.first { SPFRecord.isPolicy($0) } ?? [])]
        worstCase(tree, exceeded: failed.contains { $0.evaluation.result == .permerror })

        if let unclear = failed.first(where: { $0.evaluation.result == .temperror }) {
            let reason = unclear.evaluation.problem.map { ": \($0)" } ?? ""
            findings.append(
                Finding(.spfUnknown, at: domain, "whether \(unclear.address) may send could not be told\(reason)")
            )
            return .unknown
        }
        guard !failed.isEmpty else {
            return findings.contains { $0.code == .spfAnyone } ? .weak : .ok
        }
        var told: Set<FindingCode> = []
        for (_, evaluation) in failed {
            guard let problem = evaluation.problem, let finding = SPFRemarks.finding(problem, at: domain, seen: shown)
            else {
                continue
            }
            // One finding per kind is enough, since the same fault shows for every address.
            if told.insert(finding.code).inserted { findings.append(passed.isEmpty ? finding : finding.weakened) }
        }
        let examples = failed.prefix(5).map { "\($0.address): \($0.evaluation.result.rawValue)" }
        if passed.isEmpty {
            if told.isEmpty {
                findings.append(
                    Finding(
                        .spfNotAuthorized,
                        at: domain,
                        "none of the provider's addresses may send" + SPFRemarks.place(alias) + amendment.obstacle,
                        seen: shown + examples,
                        publish: amendment.publish
                    )
                )
            }
            return .broken
        }
        findings.append(
            Finding(
                .spfPartly,
                at: domain,
                "\(failed.count) of \(results.count) addresses tried may not send" + SPFRemarks.place(alias)
                    + amendment.obstacle,
                seen: shown + examples,
                publish: amendment.publish
            )
        )
        return .weak
    }

    private mutating func worstCase(_ tree: SPFTree, exceeded: Bool) {
        guard !exceeded else { return }
        if tree.terms > SPFEvaluator<Source>.termLimit {
            findings.append(
                Finding(
                    .spfTermsWorstCase,
                    at: domain,
                    "the whole policy holds \(tree.terms) terms that cause lookups, a receiver follows at most 10; "
                        + "this provider is found before",
                    seen: tree.nodes.filter { $0.terms > 0 }.map { "\($0.domain): \($0.terms)" }
                )
            )
        }
        let voids4 = tree.nodes.flatMap(\.voids.v4)
        let voids6 = tree.nodes.flatMap(\.voids.v6)
        for (family, voids) in [("IPv4", voids4), ("IPv6", voids6)] where voids.count > SPFEvaluator<Source>.voidLimit {
            findings.append(
                Finding(
                    .spfVoidsWorstCase,
                    at: domain,
                    "for \(family) senders \(voids.count) lookups of the policy find nothing, at most 2 may",
                    seen: voids.map(\.description)
                )
            )
        }
    }

    // MARK: Beside the policy

    private mutating func lookForRetiredType(by deadline: ContinuousClock.Instant) async {
        guard case .records(let answer) = await resolver.lookup(Question(domain, .spf), by: deadline) else { return }
        findings.append(
            Finding(
                .spfRetiredType,
                at: domain,
                "a record of the retired type SPF is published beside the TXT record; remove it",
                seen: answer.records.map(\.description)
            )
        )
    }

    private func suggestion(amending record: SPFRecord?) -> Finding.Publication? {
        alias == nil ? SPFSuggestion.publication(for: stream, amending: record) : nil
    }

    /// The policy that would permit the addresses that fail; if it would be a permerror for them, the reason instead.
    private func amendment(
        of record: SPFRecord,
        for results: [(address: IPAddress, evaluation: SPFEvaluation)],
        by deadline: ContinuousClock.Instant
    ) async -> (publish: Finding.Publication?, obstacle: String) {
        let failed = results.filter { $0.evaluation.result != .pass }.map(\.address)
        guard !failed.isEmpty, let publish = suggestion(amending: record) else { return (nil, "") }
        let policy = publish.value
        guard let problem = await SPFSuggestion.problem(with: policy, of: domain, for: failed, resolver, by: deadline)
        else { return (publish, "") }
        let advice = "remove what no longer sends, or give this mail an envelope domain of its own"
        return (nil, "; with the provider added the policy would be an error (\(problem)): \(advice)")
    }
}

extension [IPAddress] {
    /// The addresses, or if there are more than `limit`, as many at equal distances.
    fileprivate func spread(atMost limit: Int) -> [IPAddress] {
        count <= limit ? self : (0..<limit).map { self[$0 * count / limit] }
    }
}
