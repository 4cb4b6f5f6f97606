extension DMARCCheck.Result {
    /// Whether the envelope domain and the signing domain align with the From domain; nil if DNS did not answer.
    func aligned(_ record: DMARCRecord) -> (spf: Bool?, dkim: Bool?) {
        func aligned(_ domain: DomainName, _ walk: DMARCTreeWalk, strict: Bool) -> Bool? {
            if domain == stream.fromDomain { return true }
            if strict { return false }
            let (own, other) = (from.organizationalDomain, walk.organizationalDomain)
            if let own, let other { return own == other }
            // DNS answered only in part. The two domains may still align if both lie under the known organisational
            // domain or, if none is known, under the From domain's last two labels.
            let shared = own ?? other ?? stream.fromDomain.suffix(labels: 2)
            return stream.fromDomain.isWithin(shared) && domain.isWithin(shared) ? nil : false
        }
        return (
            aligned(stream.envelopeDomain, envelope, strict: record.strictSPF),
            aligned(stream.signingDomain, signing, strict: record.strictDKIM)
        )
    }

    /// The findings on whether the policy in force applies to mail that passes, and how certain that is.
    func alignment(
        _ record: DMARCRecord,
        _ policy: DMARCRecord.Policy,
        _ paths: Alignment,
        _ text: String
    ) -> [Finding] {
        let (spf, dkim) = aligned(record)
        var findings: [Finding] = []
        let spfCounts = spf != false && paths.spf != .broken
        let dkimCounts = dkim != false && paths.keys != .broken
        let isUnaligned = !spfCounts && !dkimCounts && policy != .none
        if isUnaligned {
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
        if relaxed && [from, envelope, signing].contains(where: \.restsOnTreeWalk)
            || isUnaligned && mayAlignBySuffixList(record, paths)
        {
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

    /// Whether a path that passes may belong to the From domain's organisation by the old suffix list, though it does
    /// not by tree walk: without the list, domains that share two labels may.
    private func mayAlignBySuffixList(_ record: DMARCRecord, _ paths: Alignment) -> Bool {
        let shared = stream.fromDomain.suffix(labels: 2)
        return !record.strictSPF && paths.spf != .broken && stream.envelopeDomain.isWithin(shared)
            || !record.strictDKIM && paths.keys != .broken && stream.signingDomain.isWithin(shared)
    }

    private static func word(_ aligned: Bool?) -> String {
        switch aligned {
        case true: "aligned"
        case false: "not aligned"
        case nil: "alignment unknown"
        }
    }
}
