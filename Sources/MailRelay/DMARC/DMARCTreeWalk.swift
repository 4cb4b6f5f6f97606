/// The tree walk that finds a domain's policy and its organisational domain (RFC 9989, 4.10).
struct DMARCTreeWalk: Sendable, Hashable {
    /// Where the walk began.
    let start: DomainName
    /// What was found at each name queried, from the start upwards.
    let steps: [Step]

    /// One step of the walk.
    struct Step: Sendable, Hashable {
        /// The domain, without the `_dmarc` label.
        let domain: DomainName
        /// What was found there.
        let finding: Found
        /// The target of the alias at the `_dmarc` name, if it is one.
        let alias: DomainName?
    }

    /// What was found at a name.
    enum Found: Sendable, Hashable {
        /// One record.
        case record(DMARCRecord, text: String)
        /// No text that claims to be a record.
        case nothing
        /// Several records, which count as no record.
        case several([String])
        /// An unreadable record, which counts as no record.
        case malformed(DMARCRecord.Problem, text: String)
        /// DNS did not answer.
        case unknown(LookupOutcome)
    }

    /// Walks up from `start`, querying at most eight names.
    init(from start: DomainName, asking resolver: some Resolver, by deadline: ContinuousClock.Instant) async {
        self.start = start
        var steps: [Step] = []
        for domain in Self.names(above: start) {
            let step = await Self.look(at: domain, resolver, by: deadline)
            steps.append(step)
            // The walk ends at a record that states where the organisation ends.
            if case .record(let record, _) = step.finding, record.publicSuffix != .unstated { break }
        }
        self.steps = steps
    }

    /// The names to query: the start, then its ancestors from at most seven labels upwards.
    static func names(above start: DomainName) -> [DomainName] {
        var names = [start]
        var next = start.labelCount >= 8 ? start.suffix(labels: 7) : start.parent
        while let name = next, !name.isRoot {
            names.append(name)
            next = name.parent
        }
        return names
    }

    private static func look(
        at domain: DomainName,
        _ resolver: some Resolver,
        by deadline: ContinuousClock.Instant
    ) async -> Step {
        guard let name = try? domain.prefixed(by: "_dmarc") else {
            return Step(domain: domain, finding: .nothing, alias: nil)
        }
        let outcome = await resolver.lookup(Question(name, .txt), by: deadline)
        return Step(domain: domain, finding: found(in: outcome), alias: outcome.chain.last)
    }

    private static func found(in outcome: LookupOutcome) -> Found {
        guard case .records(let answer) = outcome else { return outcome.isTemporary ? .unknown(outcome) : .nothing }
        let records = answer.texts.map(\.joinedBytes).filter { DMARCRecord.isRecord($0) }
        guard let text = records.first else { return .nothing }
        guard records.count == 1 else { return .several(records.map { PrintableBytes.escaped($0) }) }
        let shown = PrintableBytes.escaped(text)
        do {
            return .record(try DMARCRecord(text), text: shown)
        } catch {
            return .malformed(error, text: shown)
        }
    }
}

extension DMARCTreeWalk {
    /// The organisational domain; nil if DNS did not answer a query of the walk.
    var organizationalDomain: DomainName? {
        var best: DomainName?
        for step in steps {
            switch step.finding {
            case .unknown: return nil
            case .nothing, .several, .malformed: continue
            case .record(let record, _):
                switch record.publicSuffix {
                case .no: return step.domain
                case .yes where step.domain != start:
                    // The organisational domain is one label below the public suffix, towards the start.
                    return start.suffix(labels: step.domain.labelCount + 1)
                case .yes, .unstated: best = step.domain
                }
            }
        }
        return best ?? start
    }

    /// The record that governs the start: its own, else its organisation's, else its public suffix's; nil if none
    /// exists.
    var governing: (domain: DomainName, record: DMARCRecord, text: String)? {
        func record(at domain: DomainName) -> (DomainName, DMARCRecord, String)? {
            for step in steps where step.domain == domain {
                if case .record(let record, let text) = step.finding { return (domain, record, text) }
            }
            return nil
        }
        if let own = record(at: start) { return own }
        if let organization = organizationalDomain, let found = record(at: organization) { return found }
        guard let last = steps.last, case .record(let suffix, let text) = last.finding, suffix.publicSuffix == .yes
        else {
            return nil
        }
        return (last.domain, suffix, text)
    }

    /// The first query that DNS did not answer, if any.
    var unanswered: (domain: DomainName, outcome: LookupOutcome)? {
        for step in steps {
            if case .unknown(let outcome) = step.finding { return (step.domain, outcome) }
        }
        return nil
    }

    /// Whether a receiver that uses the old public suffix list may find another organisational domain.
    var restsOnTreeWalk: Bool {
        guard let organizational = organizationalDomain else { return false }
        return organizational.labelCount > 2
            && steps.contains { step in
                if case .record = step.finding { return step.domain == organizational && step.domain != start }
                return false
            }
    }
}
