/// Checks the DKIM path: whether the stream's signatures can be verified and whether they count.
struct DKIMPathCheck<Source: Resolver> {
    private let stream: MailStream
    private let resolver: Source

    init(_ stream: MailStream, _ resolver: Source) {
        self.stream = stream
        self.resolver = resolver
    }

    /// The verdicts on the path and on the keys alone: a signature by another domain does not open the path, but its
    /// keys may be valid and count for DMARC.
    struct Found {
        let path: PathVerdict
        let keys: PathVerdict
        let findings: [Finding]
    }

    func look(by deadline: ContinuousClock.Instant) async -> Found {
        guard !stream.selectors.isEmpty else {
            let finding = Finding(
                .dkimNoSelectors,
                at: stream.signingDomain,
                "no selectors were stated; take them from the provider or from a DKIM-Signature header (s=)"
            )
            // Without a selector the keys are unknown; if another domain signs, the path is broken whatever the keys
            // are.
            let findings = [finding] + (otherDomain.map { [$0] } ?? [])
            return Found(path: otherDomain == nil ? .unknown : .broken, keys: .unknown, findings: findings)
        }
        var findings: [Finding] = []
        var keys: [KeyCheck] = []
        for selector in stream.selectors {
            let key = await check(selector, by: deadline)
            keys.append(key)
            findings += key.findings
        }
        var verdict = Self.together(keys.map(\.verdict))
        if verdict == .ok, !keys.contains(where: { $0.isRSA }) {
            findings.append(
                Finding(
                    .dkimEd25519Only,
                    at: stream.signingDomain,
                    "all keys are Ed25519; publish an RSA key beside them"
                )
            )
            verdict = .weak
        }
        if let otherDomain { findings.append(otherDomain) }
        return Found(path: otherDomain == nil ? verdict : .broken, keys: verdict, findings: findings)
    }

    private var otherDomain: Finding? {
        guard stream.signingDomain != stream.fromDomain else { return nil }
        return Finding(
            .dkimOtherDomain,
            at: stream.fromDomain,
            "mail from \(stream.fromDomain) is signed by \(stream.signingDomain), which the relay does not count"
        )
    }

    /// Combines the verdicts on the keys: all must work, since mail signed with a broken key is lost.
    private static func together(_ verdicts: [PathVerdict]) -> PathVerdict {
        if verdicts.allSatisfy({ $0 == .ok }) { return .ok }
        if verdicts.allSatisfy({ $0 == .broken }) { return .broken }
        return verdicts.contains(.unknown) ? .unknown : .weak
    }

    private struct KeyCheck {
        var verdict: PathVerdict
        var findings: [Finding]
        var isRSA = false
    }

    private func check(_ selector: MailStream.Selector, by deadline: ContinuousClock.Instant) async -> KeyCheck {
        guard let name = try? stream.signingDomain.prefixed(by: "\(selector.name)._domainkey") else {
            let finding = Finding(
                .dkimSyntax,
                at: stream.signingDomain,
                "the selector “\(selector.name)” does not make a name"
            )
            return KeyCheck(verdict: .broken, findings: [finding])
        }
        let outcome = await resolver.lookup(Question(name, .txt), by: deadline)
        var check: KeyCheck
        switch outcome {
        case .records(let answer): check = judge(answer, selector, name)
        case .noData(let absence), .nxDomain(let absence):
            check = KeyCheck(verdict: .broken, findings: [missing(selector, name, outcome, absence.chain)])
        case .serverFailure, .timeout, .refused, .unreachable, .badReply:
            let finding = Finding(.dkimUnknown, at: name, "the key could not be read: \(outcome)")
            return KeyCheck(verdict: .unknown, findings: [finding])
        }
        if let target = selector.target, !outcome.chain.contains(target), !outcome.isAbsence {
            check.findings.append(
                Finding(
                    .dkimUnexpectedTarget,
                    at: name,
                    "the provider expects an alias of \(target)",
                    seen: outcome.chain.map(\.description),
                    publish: Finding.Publication(type: "CNAME", name: name.description, value: target.description)
                )
            )
            if check.verdict == .ok { check.verdict = .weak }
        }
        return check
    }

    private func missing(
        _ selector: MailStream.Selector,
        _ name: DomainName,
        _ outcome: LookupOutcome,
        _ chain: [DomainName]
    ) -> Finding {
        if let target = chain.last {
            return Finding(
                .dkimDangling,
                at: name,
                "the selector is an alias of \(target), where there is no key: \(outcome)",
                seen: chain.map(\.description)
            )
        }
        var publish: Finding.Publication?
        if let target = selector.target {
            publish = Finding.Publication(type: "CNAME", name: name.description, value: target.description)
        } else if let key = selector.key {
            publish = Finding.Publication(
                type: "TXT",
                name: name.description,
                value: DKIMKeyRecord.text(publishing: key)
            )
        }
        return Finding(.dkimMissing, at: name, "there is no key: \(outcome)", publish: publish)
    }

    private func unexpectedKey(
        _ expected: String,
        _ name: DomainName,
        _ alias: DomainName?,
        seen: [String]
    ) -> Finding {
        let summary = "the key published is not the one expected"
        // No record can exist beside an alias, so the owner of its target has to publish the key there.
        if let alias {
            return Finding(
                .dkimUnexpectedKey,
                at: name,
                "\(summary); it is at \(alias), to which an alias leads",
                seen: seen
            )
        }
        let text = DKIMKeyRecord.text(publishing: expected)
        let publish = Finding.Publication(type: "TXT", name: name.description, value: text)
        return Finding(.dkimUnexpectedKey, at: name, summary, seen: seen, publish: publish)
    }

    private func judge(
        _ answer: LookupOutcome.Answer,
        _ selector: MailStream.Selector,
        _ name: DomainName
    ) -> KeyCheck {
        let texts = answer.texts
        guard let strings = texts.first, texts.count == 1 else {
            let finding = Finding(
                .dkimSeveral,
                at: name,
                "\(texts.count) TXT records are at the selector, expected one",
                seen: texts.map { RecordData.quoted($0) }
            )
            return KeyCheck(verdict: .broken, findings: [finding])
        }
        let record = DKIMKeyRecord(strings.joinedBytes)
        let seen = [RecordData.quoted(strings)]
        var findings = record.problems.map { DKIMRemarks.finding($0, at: name, record, strings: strings, seen: seen) }
        if let expected = selector.key, record.key != nil,
            Array(expected.utf8).filter({ !$0.isWhiteSpace }) != record.encodedKey
        {
            findings.append(unexpectedKey(expected, name, answer.chain.last, seen: seen))
        }
        let worst = findings.map(\.severity).max()
        let verdict: PathVerdict =
            switch worst {
            case .broken: .broken
            case .unknown: .unknown
            case .weak: .weak
            case .advice, nil: .ok
            }
        var isRSA = false
        if case .rsa = record.key { isRSA = true }
        return KeyCheck(verdict: verdict, findings: findings, isRSA: isRSA)
    }
}
