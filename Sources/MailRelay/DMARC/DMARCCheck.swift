/// What the From domain asks receivers to do, and whether the stream's paths count for it.
///
/// The relay asks for no policy, but heeds one: where it has mail refused that is not the From domain's, a path that
/// passes for another domain is of no use. All else is advice.
struct DMARCCheck<Source: Resolver> {
    private let stream: MailStream
    private let resolver: Source

    init(_ stream: MailStream, _ resolver: Source) {
        self.stream = stream
        self.resolver = resolver
    }

    /// What the walks found; the paths' verdicts come later.
    struct Result {
        let stream: MailStream
        let from: DMARCTreeWalk
        let envelope: DMARCTreeWalk
        let signing: DMARCTreeWalk
        /// External report addresses whose domain has not agreed.
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

    /// Report addresses outside the organisation need a record of consent (RFC 9990, 4).
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
                let agrees = answer.records.contains { record in
                    guard case .text(let strings) = record else { return false }
                    return DMARCRecord.isRecord(Array(strings.joined()))
                }
                if !agrees { refused.append(question.description) }
            case .noData, .nxDomain: refused.append(question.description)
            case .serverFailure, .timeout, .refused, .unreachable, .badReply: continue
            }
        }
        return refused
    }
}

extension DMARCCheck.Result {
    /// The findings, once it is known how the paths stand.
    func findings(_ paths: Alignment) -> [Finding] {
        var findings = mistakes
        if let (domain, outcome) = unread {
            findings.append(
                Finding(.dmarcUnknown, .advice, at: domain, "the DMARC record could not be read: \(outcome)")
            )
            return findings
        }
        guard let (domain, record, text) = from.governing else {
            if !findings.contains(where: {
                $0.severity > .advice || $0.code == .dmarcSeveral || $0.code == .dmarcSyntax
            }) {
                findings.append(
                    Finding(
                        .dmarcMissing,
                        at: stream.fromDomain,
                        "neither the From domain nor one above it has a DMARC record",
                        publish: Finding.Publication(
                            type: "TXT",
                            name: "_dmarc.\(stream.fromDomain)",
                            value: "v=DMARC1; p=none; rua=mailto:dmarc@\(stream.fromDomain)"
                        )
                    )
                )
            }
            return findings
        }
        let isOwn = domain == stream.fromDomain
        let policy = stated(record, isOwn: isOwn)
        if record.policy == nil {
            findings.append(
                Finding(
                    .dmarcNoPolicy,
                    at: domain,
                    "the record states no policy that can be read; it counts as “none”",
                    seen: [text]
                )
            )
        } else if policy == .none {
            findings.append(
                Finding(.dmarcNotEnforced, at: domain, "the policy for \(stream.fromDomain) is “none”", seen: [text])
            )
        }
        if record.isTesting {
            findings.append(Finding(.dmarcTesting, at: domain, "the policy is being tried out (t=y)", seen: [text]))
        }
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
        for name in refused {
            findings.append(
                Finding(
                    .dmarcReportsRefused,
                    at: name,
                    "a report address lies in another organisation, which has not agreed to take reports",
                    publish: Finding.Publication(type: "TXT", name: name, value: "v=DMARC1;")
                )
            )
        }
        findings += alignment(record, record.isTesting ? policy.milder : policy, paths, text)
        return findings
    }

    /// What the policy in force asks of mail that is not the From domain's.
    func refusal(keys: PathVerdict) -> DMARCRefusal {
        if unread != nil { return .unknown }
        guard let (domain, record, _) = from.governing else { return .none }
        let policy = stated(record, isOwn: domain == stream.fromDomain)
        guard policy == .reject, !record.isTesting else { return .none }
        let (spf, dkim) = aligned(record)
        // The relay does not count another domain's signature, DMARC does where that belongs to the same organisation.
        if stream.signingDomain != stream.fromDomain, dkim != false, keys != .broken { return .none }
        return .unaligned(spfCounts: spf != false, dkimCounts: dkim != false)
    }

    /// What DNS did not answer of where the policy may stand: a record of the From domain's own governs, whatever
    /// stands above it.
    private var unread: (domain: DomainName, outcome: LookupOutcome)? {
        if case .record? = from.steps.first?.finding { return nil }
        return from.unanswered
    }

    /// The policy that a record states for the From domain, which may lie below the record's.
    private func stated(_ record: DMARCRecord, isOwn: Bool) -> DMARCRecord.Policy {
        (isOwn ? record.policy : record.subdomainPolicy ?? record.policy) ?? .none
    }

    /// Whether the envelope domain and the signing domain belong to the From domain; nil where DNS did not tell.
    private func aligned(_ record: DMARCRecord) -> (spf: Bool?, dkim: Bool?) {
        func aligned(_ domain: DomainName, _ walk: DMARCTreeWalk, strict: Bool) -> Bool? {
            if domain == stream.fromDomain { return true }
            if strict { return false }
            let (own, other) = (from.organizationalDomain, walk.organizationalDomain)
            if let own, let other { return own == other }
            // They may be one organisation's only where both lie in what is its domain, or may be: no top-level domain
            // is.
            let shared = own ?? other ?? stream.fromDomain.suffix(labels: 2)
            return stream.fromDomain.isWithin(shared) && domain.isWithin(shared) ? nil : false
        }
        return (
            aligned(stream.envelopeDomain, envelope, strict: record.strictSPF),
            aligned(stream.signingDomain, signing, strict: record.strictDKIM)
        )
    }

    private var mistakes: [Finding] {
        from.steps.compactMap { step in
            switch step.finding {
            case .several(let texts):
                Finding(
                    .dmarcSeveral,
                    at: "_dmarc.\(step.domain)",
                    "\(texts.count) DMARC records stand there, so none counts",
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

    private func alignment(
        _ record: DMARCRecord,
        _ policy: DMARCRecord.Policy,
        _ paths: Alignment,
        _ text: String
    ) -> [Finding] {
        let (spf, dkim) = aligned(record)
        var findings: [Finding] = []
        let spfCounts = spf != false && paths.spf != .broken
        let dkimCounts = dkim != false && paths.keys != .broken
        if !spfCounts, !dkimCounts, policy != .none {
            findings.append(
                Finding(
                    .dmarcNotAligned,
                    policy == .reject ? .broken : nil,
                    at: stream.fromDomain,
                    "nothing that passes belongs to the From domain, so its policy “\(policy.rawValue)” applies to this mail",
                    seen: [
                        text, "envelope domain \(stream.envelopeDomain): \(Self.word(spf)), SPF \(paths.spf.rawValue)",
                        "signing domain \(stream.signingDomain): \(Self.word(dkim)), DKIM \(paths.keys.rawValue)",
                    ]
                )
            )
        }
        if spf == nil || dkim == nil,
            let (domain, outcome) = [from, envelope, signing].lazy.compactMap(\.unanswered).first
        {
            let summary = "whether these domains are one organisation's could not be read: \(outcome)"
            findings.append(Finding(.dmarcUnknown, .advice, at: domain, summary))
        }
        let relaxed = [stream.envelopeDomain, stream.signingDomain].contains { $0 != stream.fromDomain }
        if relaxed, [from, envelope, signing].contains(where: \.restsOnTreeWalk) {
            findings.append(
                Finding(
                    .dmarcSuffixList,
                    at: stream.fromDomain,
                    "the organisational domain by tree walk is \(from.organizationalDomain?.description ?? "unknown"); "
                        + "receivers with the old suffix list may see another"
                )
            )
        }
        return findings
    }

    private static func word(_ aligned: Bool?) -> String {
        switch aligned {
        case true: "aligned"
        case false: "not aligned"
        case nil: "alignment unknown"
        }
    }
}

extension DMARCRecord.Problem: CustomStringConvertible {
    /// What is wrong with the record.
    var description: String {
        switch self {
        case .badPolicy(let tag, let word): "“\(tag)=\(word)” is no policy"
        }
    }
}
