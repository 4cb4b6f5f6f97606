/// A resolver that answers from a table, for tests, benchmarks and "what if" questions.
package final class ZoneResolver: Resolver {
    private let names: NameTable<Entry>
    /// The outcomes of all names, grouped by name.
    private let outcomes: [(type: RecordType, outcome: LookupOutcome)]

    /// The entry for one name.
    private struct Entry {
        /// The range of its outcomes.
        var range = 0..<0
        /// Whether questions for types without an outcome of their own get no answer at all.
        var isSilent = false
    }

    /// Creates a table of outcomes; names in `silent` give no answer for types without an entry.
    ///
    /// A name in the table has no data for other types; all other names do not exist.
    package init(_ outcomes: [Question: LookupOutcome], silent: Set<DomainName> = []) {
        var names: [DomainName: Entry] = [:]
        var all: [(type: RecordType, outcome: LookupOutcome)] = []
        for (name, entries) in Dictionary(grouping: outcomes, by: \.key.name) {
            names[name] = Entry(range: all.count..<(all.count + entries.count))
            all += entries.map { ($0.key.type, $0.value) }
        }
        for name in silent { names[name, default: Entry()].isSilent = true }
        self.names = NameTable(names)
        self.outcomes = all
    }

    /// Looks the question up in the table.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        outcome(question)
    }

    /// The outcome, which is always at hand.
    package func outcomeAtHand(_ question: Question) -> LookupOutcome? { outcome(question) }

    private func outcome(_ question: Question) -> LookupOutcome {
        guard let entry = names[question.name] else { return .nxDomain(LookupOutcome.Absence()) }
        return outcome(entry, question.type) ?? following(question, entry)
    }

    private func outcome(_ entry: Entry, _ type: RecordType) -> LookupOutcome? {
        for index in entry.range where outcomes[index].type == type { return outcomes[index].outcome }
        return nil
    }

    /// Follows aliases within the table.
    private func following(_ question: Question, _ first: Entry) -> LookupOutcome {
        var entry = first
        var chain: [DomainName] = []
        var ttl = UInt32.max
        while case .records(let alias)? = outcome(entry, .cname), case .cname(let target)? = alias.records.first {
            guard target != question.name, !chain.contains(target) else {
                return .badReply(.aliasLoop([question.name] + chain + [target]))
            }
            chain.append(target)
            ttl = min(ttl, alias.ttl)
            guard let next = names[target] else { return .nxDomain(LookupOutcome.Absence(chain: chain)) }
            if let outcome = outcome(next, question.type) { return outcome.reached(through: chain, ttl: ttl) }
            entry = next
        }
        return entry.isSilent ? .timeout : .noData(LookupOutcome.Absence(chain: chain))
    }
}

extension LookupOutcome {
    /// This outcome as seen from the start of a chain of aliases.
    fileprivate func reached(through chain: [DomainName], ttl: UInt32) -> LookupOutcome {
        guard case .records(let answer) = self else { return self }
        return .records(
            Answer(
                records: answer.records,
                ttl: min(ttl, answer.ttl),
                chain: chain,
                authenticated: answer.authenticated
            )
        )
    }
}

extension SPFEvaluator<ZoneResolver> {
    /// Evaluates SPF for a sender from the table.
    ///
    /// This method is not generic, so that the evaluator is specialised for tables here instead of being called through
    /// witness tables elsewhere.
    package func evaluateByTable(_ query: SPFQuery, by deadline: ContinuousClock.Instant) async -> SPFEvaluation {
        await evaluate(query, by: deadline)
    }
}
