/// Checks whether a stream's mail can reach Apple's relay by SPF or by DKIM, and whether its DMARC policy allows that.
package struct StreamChecker: Sendable {
    private let resolver: any Resolver

    /// The longest time a check takes, however slow DNS is.
    package static let timeLimit = Duration.seconds(30)

    /// A checker that asks `resolver`; pass one ``CachingResolver`` to several checkers to share answers.
    package init(_ resolver: any Resolver) {
        self.resolver = resolver
    }

    /// Runs all checks of a stream concurrently, at the latest until `deadline`; never throws.
    package func check(_ stream: MailStream, by deadline: ContinuousClock.Instant) async -> StreamReport {
        let recorder = RecordingResolver(CachingResolver(resolver))
        async let spf = SPFPathCheck(stream, recorder).run(by: deadline)
        async let dkim = DKIMPathCheck(stream, recorder).look(by: deadline)
        async let dmarc = DMARCCheck(stream, recorder).run(by: deadline)
        async let exchangers = ExchangerCheck(recorder).run(stream, by: deadline)

        let (spfVerdict, spfFindings) = await spf
        let dkimFound = await dkim
        let dmarcResult = await dmarc
        let (sender, exchangerFindings) = await exchangers
        let alignment = Alignment(spf: spfVerdict, dkim: dkimFound.path, keys: dkimFound.keys)
        let verdict = StreamVerdict(
            spf: spfVerdict,
            dkim: dkimFound.path,
            envelopeRegistered: stream.isRegistered(stream.envelopeDomain),
            fromRegistered: stream.isRegistered(stream.fromDomain),
            refusal: dmarcResult.refusal(keys: dkimFound.keys),
            sender: sender,
            isSilent: (spfVerdict == .unknown && spfFindings.contains { $0.code == .spfUnknown })
                || (dkimFound.path == .unknown && dkimFound.findings.contains { $0.code == .dkimUnknown })
        )
        var findings = spfFindings + dkimFound.findings + registrationFindings(stream)
        findings += dmarcResult.findings(alignment)
        findings += exchangerFindings
        let answers = recorder.answers
        findings += bogusFindings(answers)
        return StreamReport(
            stream: stream,
            verdict: verdict,
            findings: findings.inOrder,
            answers: answers
        )
    }

    /// The findings for invalid DNSSEC signatures, which do not go away by themselves: somebody has to fix the zone.
    private func bogusFindings(_ answers: [(question: Question, outcome: LookupOutcome)]) -> [Finding] {
        answers.compactMap { question, outcome in
            guard case .serverFailure(let failure) = outcome, failure.dnssecBogus else { return nil }
            return Finding(.dnsBogus, at: question.name, "the DNSSEC signatures of the name are wrong")
        }
    }

    private func registrationFindings(_ stream: MailStream) -> [Finding] {
        guard case .names(let names) = stream.registration else {
            return [
                Finding(
                    .appleNotStated,
                    at: stream.fromDomain,
                    "it was not stated which names are registered with Apple; the verdict assumes that they are"
                )
            ]
        }
        let said = names.isEmpty ? ["no name"] : names.map(\.description)
        var missing: [(DomainName, String, String)] = []
        if !names.contains(stream.envelopeDomain) {
            missing.append((stream.envelopeDomain, "SPF", "envelope domain"))
        }
        if !names.contains(stream.fromDomain) {
            missing.append((stream.fromDomain, "DKIM", "From domain"))
        }
        // With one of two names registered, one path is open: weak, but not broken.
        let severity: Finding.Severity =
            missing.count == 2 || stream.envelopeDomain == stream.fromDomain ? .broken : .weak
        return missing.map { name, path, role in
            Finding(
                .appleNotRegistered,
                severity,
                at: name,
                "the \(role) is not registered with Apple, so the \(path) path does not count; "
                    + "add it under Services, Sign in with Apple for Email Communication, Email Sources",
                seen: said
            )
        }
    }
}

/// The verdicts on the paths, used to decide whether any aligned path passes.
struct Alignment {
    let spf: PathVerdict
    let dkim: PathVerdict
    /// The verdict on the keys alone, whichever domain signs.
    let keys: PathVerdict
}

extension [Finding] {
    /// The findings without duplicates, the most serious first, otherwise in their original order.
    var inOrder: [Finding] {
        var seen: Set<Finding> = []
        let unique = filter { seen.insert($0).inserted }
        return Finding.Severity.allCases.reversed().flatMap { severity in unique.filter { $0.severity == severity } }
    }
}
