/// Checks the From domain's DMARC policy and whether the stream's paths align with it.
///
/// The relay does not require a policy but honours one: if the policy rejects unaligned mail, a path that passes for
/// another domain does not help. All other findings are advice.
struct DMARCCheck<Source: Resolver> {
    private let stream: MailStream
    private let resolver: Source

    init(_ stream: MailStream, _ resolver: Source) {
        self.stream = stream
        self.resolver = resolver
    }

    /// The results of the tree walks; the verdicts on the paths are added later.
    struct Result {
        let stream: MailStream
        let from: DMARCTreeWalk
        let envelope: DMARCTreeWalk
        let signing: DMARCTreeWalk
        /// The consent records that are missing for report addresses in other organisations.
        let refused: [String]
    }

    func run(by deadline: ContinuousClock.Instant) async -> Result {
        let from = await DMARCTreeWalk(from: stream.fromDomain, asking: resolver, by: deadline)
        let envelope = await DMARCTreeWalk(from: stream.envelopeDomain, asking: resolver, by: deadline)
        let signing = await DMARCTreeWalk(from: stream.signingDomain, asking: resolver, by: deadline)
        return Result(
            stream: stream,
            from: from,
            envelope: envelope,
            signing: signing,
            refused: await refused(from, by: deadline)
        )
    }

    /// Finds report addresses outside the organisation whose domain lacks a record of consent (RFC 9990, 4).
    private func refused(_ walk: DMARCTreeWalk, by deadline: ContinuousClock.Instant) async -> [String] {
        guard let (domain, record, _) = walk.governing, let organization = walk.organizationalDomain else { return [] }
        var refused: [String] = []
        for address in record.reportAddresses {
            guard let at = address.lastIndex(of: "@") else { continue }
            let host = address[address.index(after: at)...].prefix { $0 != "!" && $0 != "?" }
            guard let target = try? DomainName(dotted: String(host)), !target.isWithin(organization),
                let question = try? target.prefixed(by: "\(domain)._report._dmarc")
            else { continue }
            switch await resolver.lookup(Question(question, .txt), by: deadline) {
            case .records(let answer):
                let agrees = answer.texts.contains { DMARCRecord.isRecord($0.joinedBytes) }
                if !agrees { refused.append(question.description) }
            case .noData, .nxDomain: refused.append(question.description)
            case .serverFailure, .timeout, .refused, .unreachable, .badReply: continue
            }
        }
        return refused
    }
}

extension DMARCCheck.Result {
    /// The findings, given the verdicts on the paths.
    func findings(_ paths: Alignment) -> [Finding] {
        if let (domain, outcome) = unread {
            let summary = "the DMARC record could not be read: \(outcome)"
            return mistakes + [Finding(.dmarcUnknown, .advice, at: domain, summary)]
        }
        guard let (domain, record, text) = from.governing else { return mistakes + absence }
        let policy = stated(record, isOwn: domain == stream.fromDomain)
        let said = enforcement(record, policy, at: domain, text) + remarks(record, at: domain, text)
        let inForce = record.isTesting ? policy.milder : policy
        return mistakes + said + consents + alignment(record, inForce, paths, text)
    }

    /// The finding that no policy governs, unless a finding about a broken record already says so.
    private var absence: [Finding] {
        let isSaid = mistakes.contains {
            $0.severity > .advice || $0.code == .dmarcSeveral || $0.code == .dmarcSyntax
        }
        guard !isSaid else { return [] }
        let summary = "neither the From domain nor one above it has a DMARC record"
        // No record can exist beside an alias, so the owner of its target has to publish the policy there.
        if let alias = from.steps.first?.alias {
            let place = "an alias leads from _dmarc.\(stream.fromDomain) to \(alias)"
            return [Finding(.dmarcMissing, at: stream.fromDomain, "\(summary); \(place)")]
        }
        let publish = Finding.Publication(
            type: "TXT",
            name: "_dmarc.\(stream.fromDomain)",
            value: "v=DMARC1; p=none; rua=mailto:dmarc@\(stream.fromDomain)"
        )
        return [Finding(.dmarcMissing, at: stream.fromDomain, summary, publish: publish)]
    }

    /// Reasons why receivers would reject nothing under this record.
    private func enforcement(
        _ record: DMARCRecord,
        _ policy: DMARCRecord.Policy,
        at domain: DomainName,
        _ text: String
    ) -> [Finding] {
        var findings: [Finding] = []
        if record.policy == nil {
            let summary = "the record states no policy that can be read; it counts as “none”"
            findings.append(Finding(.dmarcNoPolicy, at: domain, summary, seen: [text]))
        } else if policy == .none {
            let summary = "the policy for \(stream.fromDomain) is “none”"
            findings.append(Finding(.dmarcNotEnforced, at: domain, summary, seen: [text]))
        }
        if record.isTesting {
            findings.append(Finding(.dmarcTesting, at: domain, "the policy is being tried out (t=y)", seen: [text]))
        }
        return findings
    }

    /// The parts of the record that receivers ignore.
    private func remarks(_ record: DMARCRecord, at domain: DomainName, _ text: String) -> [Finding] {
        var findings: [Finding] = []
        if !record.skipped.isEmpty {
            let parts = record.skipped.map(\.description).joined(separator: ", ")
            findings.append(
                Finding(.dmarcSkipped, at: domain, "parts of the record do not count: \(parts)", seen: [text])
            )
        }
        if !record.historicTags.isEmpty {
            let tags = record.historicTags.joined(separator: ", ")
            findings.append(Finding(.dmarcHistoric, at: domain, "receivers ignore \(tags)", seen: [text]))
        }
        return findings
    }

    /// The consent records that organisations receiving reports have not published.
    private var consents: [Finding] {
        refused.map { name in
            Finding(
                .dmarcReportsRefused,
                at: name,
                "a report address lies in another organisation, which has not agreed to accept reports",
                publish: Finding.Publication(type: "TXT", name: name, value: "v=DMARC1;")
            )
        }
    }

    /// Whether the policy in force rejects mail that does not align with the From domain.
    func refusal(keys: PathVerdict) -> DMARCRefusal {
        if unread != nil { return .unknown }
        guard let (domain, record, _) = from.governing else { return .none }
        let policy = stated(record, isOwn: domain == stream.fromDomain)
        guard policy == .reject, !record.isTesting else { return .none }
        let (spf, dkim) = aligned(record)
        // The relay ignores a signature by another domain, but DMARC counts one by a domain of the same organisation.
        if stream.signingDomain != stream.fromDomain, dkim != false, keys != .broken { return .none }
        return .unaligned(spfCounts: spf != false, dkimCounts: dkim != false)
    }

    /// The first unanswered lookup for the policy; nil if the From domain has a record of its own, which governs
    /// regardless of the records above it.
    private var unread: (domain: DomainName, outcome: LookupOutcome)? {
        if case .record? = from.steps.first?.finding { return nil }
        return from.unanswered
    }

    /// The policy that a record states for the From domain, which may be a sub-domain of the record's domain.
    private func stated(_ record: DMARCRecord, isOwn: Bool) -> DMARCRecord.Policy {
        (isOwn ? record.policy : record.subdomainPolicy ?? record.policy) ?? .none
    }

    /// The findings on broken records found during the walk.
    private var mistakes: [Finding] {
        from.steps.compactMap { step in
            switch step.finding {
            case .several(let texts):
                Finding(
                    .dmarcSeveral,
                    at: "_dmarc.\(step.domain)",
                    "\(texts.count) DMARC records are published, so none counts",
                    seen: texts
                )
            case .malformed(let problem, let text):
                Finding(
                    .dmarcSyntax,
                    at: "_dmarc.\(step.domain)",
                    "the DMARC record is malformed: \(problem)",
                    seen: [text]
                )
            case .record, .nothing, .unknown: nil
            }
        }
    }
}

extension DMARCRecord.Problem: CustomStringConvertible {
    /// What is wrong with the record.
    var description: String {
        switch self {
        case .badPolicy(let tag, let word): "“\(tag)=\(word)” is not a policy"
        }
    }
}
