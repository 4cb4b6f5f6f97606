/// A resolver that answers from a table: for tests, measurements, and "what if" questions.
package struct ZoneResolver: Resolver {
    private let outcomes: [Question: LookupOutcome]
    private let names: Set<DomainName>
    /// Names that answer nothing for any type without an entry of its own.
    private let silent: Set<DomainName>

    /// A table of outcomes.
    ///
    /// A name that occurs has no data for other types; all other names do not exist.
    package init(_ outcomes: [Question: LookupOutcome], silent: Set<DomainName> = []) {
        self.outcomes = outcomes
        self.names = Set(outcomes.keys.map(\.name)).union(silent)
        self.silent = silent
    }

    /// Looks the question up, following aliases inside the table.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        if let outcome = outcomes[question] { return outcome }
        return following(question)
    }

    private func following(_ question: Question) -> LookupOutcome {
        var name = question.name
        var chain: [DomainName] = []
        while case .records(let alias)? = outcomes[Question(name, .cname)],
            case .cname(let target)? = alias.records.first
        {
            guard target != question.name, !chain.contains(target) else {
                return .badReply(.aliasLoop([question.name] + chain + [target]))
            }
            chain.append(target)
            name = target
            guard let outcome = outcomes[Question(name, question.type)] else { continue }
            guard case .records(let answer) = outcome else { return outcome }
            return .records(
                LookupOutcome.Answer(
                    records: answer.records,
                    ttl: min(alias.ttl, answer.ttl),
                    chain: chain,
                    authenticated: answer.authenticated
                )
            )
        }
        if silent.contains(name) { return .timeout }
        let absence = LookupOutcome.Absence(chain: chain)
        return names.contains(name) ? .noData(absence) : .nxDomain(absence)
    }
}

extension ZoneResolver {
    /// What SPF says of many senders by this table.
    ///
    /// Not generic, so that the evaluator is specialised for tables here and not called through witness tables elsewhere.
    package func evaluateSPF(_ queries: [SPFQuery]) async -> [SPFEvaluation] {
        let evaluator = SPFEvaluator(self)
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        var evaluations: [SPFEvaluation] = []
        evaluations.reserveCapacity(queries.count)
        for query in queries { evaluations.append(await evaluator.evaluate(query, by: deadline)) }
        return evaluations
    }
}
