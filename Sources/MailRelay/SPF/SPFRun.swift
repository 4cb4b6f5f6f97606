/// One evaluation, a plain function of what DNS has answered: what it has used up, and what it has seen.
///
/// It never waits. The first answer that is missing stops it, and it is run again with that answer. Lest a long policy
/// cost its length for each answer, policies that were read are remembered, and steps are recorded in a last run only.
struct SPFRun<Source: Resolver>: ~Copyable {
    private let evaluator: SPFEvaluator<Source>
    let query: SPFQuery
    private let timestamp: Int64
    /// Whether steps are recorded.
    var isTracing = false
    /// Nil until an answer had to be waited for.
    private var memory: SPFMemory?
    /// What the pass under way has gathered.
    var pass = SPFPass()

    init(_ evaluator: SPFEvaluator<Source>, _ query: SPFQuery, timestamp: Int64) {
        self.evaluator = evaluator
        self.query = query
        self.timestamp = timestamp
    }

    /// Takes what became of a question; with the time up, whatever is missing from now on counts as not answered in
    /// time.
    mutating func remember(_ outcome: LookupOutcome, of question: Question, isTimeUp: Bool) {
        memory = memory ?? SPFMemory()
        memory?.answers[question] = outcome
        memory?.isTimeUp = isTimeUp
    }

    /// Evaluates the sender's policy from the start; throws the question that must be asked first.
    mutating func evaluation(_ domain: DomainName) throws(SPFUnanswered) -> SPFEvaluation {
        pass = SPFPass()
        do {
            let verdict = try check(domain, depth: 0)
            pass.isExplaining = true
            let explanation = try explanation(of: verdict)
            return SPFEvaluation(
                verdict.result,
                explanation: explanation,
                terms: pass.terms,
                voids: pass.voids,
                match: verdict.match(),
                trace: pass.trace
            )
        } catch {
            switch error {
            case .problem(let problem):
                return SPFEvaluation(
                    problem.result,
                    terms: pass.terms,
                    voids: pass.voids,
                    problem: problem,
                    trace: pass.trace
                )
            case .missing(let question):
                throw SPFUnanswered(question: question)
            }
        }
    }

    /// Evaluates the policy of `domain`.
    private mutating func check(_ domain: DomainName, depth: Int) throws(SPFStop) -> SPFVerdict {
        let policy = try policy(of: domain, depth: depth)
        for index in policy.record.directives.indices {
            let directive = policy.record.directives[index]
            guard try matches(directive, of: policy) else { continue }
            return SPFVerdict(result: directive.result, policy: policy, decisive: directive.source)
        }
        guard let redirect = policy.record.redirect else {
            return SPFVerdict(result: .neutral, policy: policy, decisive: nil)
        }
        try countTerm()
        let target = try target(redirect, of: policy)
        if isTracing { note(policy, "redirect=\(policy.record.shown(redirect))", "to \(target)") }
        return try check(target: target, of: policy)
    }

    /// Evaluates the policy that an include or redirect leads to.
    mutating func check(target: DomainName, of policy: borrowing SPFPolicy) throws(SPFStop) -> SPFVerdict {
        do {
            return try check(target, depth: policy.depth + 1)
        } catch {
            if case .problem(.noPolicy) = error { throw .problem(.targetWithoutPolicy(target)) }
            throw error
        }
    }

    private mutating func policy(of domain: DomainName, depth: Int) throws(SPFStop) -> SPFPolicy {
        let record = if let known = memory?.records[domain] { known } else { try record(of: domain) }
        if isTracing { note(domain, depth, PrintableBytes.escaped(record.text), "policy") }
        return SPFPolicy(domain: domain, record: record, depth: depth)
    }

    private mutating func record(of domain: DomainName) throws(SPFStop) -> SPFRecord {
        let question = Question(domain, .txt)
        var text: [UInt8]?
        var count = 0
        switch try outcome(of: question) {
        case .records(let answer):
            for case .text(let strings) in answer.records {
                let joined = strings.joinedBytes
                guard SPFRecord.isPolicy(joined) else { continue }
                text = joined
                count += 1
            }
        case .noData, .nxDomain: break
        case let outcome: throw .problem(.lookup(question, outcome))
        }
        guard let text else { throw .problem(.noPolicy(domain)) }
        guard count == 1 else { throw .problem(.severalPolicies(domain, count: count)) }
        do {
            let record = try SPFRecord(parsing: text)
            // Where nothing had to be waited for there is hardly a next run.
            memory?.records[domain] = record
            return record
        } catch {
            throw .problem(.syntax(error, in: domain))
        }
    }

    private mutating func matches(_ directive: SPFDirective, of policy: borrowing SPFPolicy) throws(SPFStop) -> Bool {
        do {
            let matches = try matches(directive.mechanism, of: policy)
            if isTracing {
                note(policy, policy.record.shown(directive), matches ? directive.result.rawValue : "no match")
            }
            return matches
        } catch {
            if isTracing, case .problem(let problem) = error {
                note(policy, policy.record.shown(directive), "\(problem.result.rawValue): \(problem)")
            }
            throw error
        }
    }

    private mutating func note(_ policy: borrowing SPFPolicy, _ term: String, _ outcome: String) {
        note(policy.domain, policy.depth, term, outcome)
    }

    private mutating func note(_ domain: DomainName, _ depth: Int, _ term: String, _ outcome: String) {
        pass.trace.append(SPFTraceStep(depth: depth, domain: domain.description, term: term, outcome: outcome))
    }
}

// MARK: Macros

extension SPFRun {
    /// What macros of a policy stand for.
    func values(_ policy: borrowing SPFPolicy) -> SPFMacro.Values {
        SPFMacro.Values(
            query: query,
            domain: policy.depth == 0 ? nil : policy.domain,
            validatedName: pass.validatedName,
            receiver: evaluator.receiver,
            timestamp: timestamp
        )
    }
}

// MARK: Lookups

extension SPFRun {
    /// What DNS says.
    func outcome(of question: Question) throws(SPFStop) -> LookupOutcome {
        if let outcome = memory?.answers[question] ?? evaluator.resolver.outcomeAtHand(question) { return outcome }
        guard memory?.isTimeUp == true else { throw .missing(question) }
        return .timeout
    }

    /// The records that a term asks for; finding none uses up one of the void lookups.
    ///
    /// Not for an explanation: it is sought when the evaluation is over (RFC 7208, 4.6.4).
    mutating func records(_ name: DomainName, _ type: RecordType) throws(SPFStop) -> [RecordData] {
        let question = Question(name, type)
        switch try outcome(of: question) {
        case .records(let answer):
            return answer.records
        case .noData, .nxDomain:
            if pass.isExplaining { return [] }
            pass.voids += 1
            guard pass.voids <= SPFEvaluator<Source>.voidLimit else { throw .problem(.tooManyVoids(question)) }
            return []
        case let outcome:
            throw .problem(.lookup(question, outcome))
        }
    }

    /// Like ``records(_:_:)``, nil instead of a failure of DNS.
    mutating func recordsIfAny(_ name: DomainName, _ type: RecordType) throws(SPFStop) -> [RecordData]? {
        do {
            return try records(name, type)
        } catch {
            if case .problem(.lookup) = error { return nil }
            throw error
        }
    }

    /// Counts a term that may cause lookups.
    mutating func countTerm() throws(SPFStop) {
        pass.terms += 1
        guard pass.terms <= SPFEvaluator<Source>.termLimit else { throw .problem(.tooManyTerms) }
    }
}
