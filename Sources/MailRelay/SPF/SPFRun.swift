/// One evaluation as a pure function of the DNS answers so far, with its counters and its trace.
///
/// A run never waits. It stops at the first missing answer, and the evaluator runs it again with that answer. To keep
/// the repeated runs cheap, parsed policies are remembered, and the trace is recorded in a last run only.
struct SPFRun<Source: Resolver>: ~Copyable {
    private let evaluator: SPFEvaluator<Source>
    let query: SPFQuery
    private let timestamp: Int64
    /// Whether steps are recorded.
    var isTracing = false
    /// Nil until the evaluation had to wait for an answer.
    private var memory: SPFMemory?
    /// The state of the current pass.
    var pass = SPFPass()

    init(_ evaluator: SPFEvaluator<Source>, _ query: SPFQuery, timestamp: Int64) {
        self.evaluator = evaluator
        self.query = query
        self.timestamp = timestamp
    }

    /// Stores the outcome of a question; if the time is up, all answers still missing count as timed out.
    mutating func remember(_ outcome: LookupOutcome, of question: Question, isTimeUp: Bool) {
        memory = memory ?? SPFMemory()
        memory?.answers[question] = outcome
        memory?.isTimeUp = isTimeUp
    }

    /// Evaluates the sender's policy from the start; throws the next question that must be answered.
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
            // An evaluation that has not waited for an answer rarely needs another run, so its policies are not kept.
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
    /// The values of the macros in a policy.
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
    /// The outcome of a question, from memory or the resolver's cache; throws if it has yet to be looked up.
    func outcome(of question: Question) throws(SPFStop) -> LookupOutcome {
        if let outcome = memory?.answers[question] ?? evaluator.resolver.outcomeAtHand(question) { return outcome }
        guard memory?.isTimeUp == true else { throw .missing(question) }
        return .timeout
    }

    /// The records for a term; an empty answer counts as a void lookup.
    ///
    /// Lookups for an explanation do not count, since the evaluation is then over (RFC 7208, 4.6.4).
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

    /// Like ``records(_:_:)``, but returns nil on a DNS failure.
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
