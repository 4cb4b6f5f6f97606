/// Reads a policy and everything it includes.
struct SPFTreeReader<Source: Resolver>: Sendable {
    private let resolver: Source
    /// The most policies read, far more than any receiver would read.
    private static var nodeLimit: Int { 64 }
    /// The most lookups for one tree, so that a policy cannot make us query others without end.
    private static var lookupLimit: Int { 200 }

    /// A reader that asks `resolver`.
    init(_ resolver: Source) {
        self.resolver = resolver
    }

    /// Reads the policy of `domain` and all policies that it leads to, until `deadline`.
    func read(_ domain: DomainName, by deadline: ContinuousClock.Instant) async -> SPFTree {
        var reading = Reading(resolver, until: deadline)
        let root = await node(domain, term: "", isSending: true, above: [], &reading)
        return SPFTree(root: root ?? .leaf(domain, .unknown(.timeout), term: ""), isCut: reading.isCut)
    }

    /// The remaining budget for reading one tree.
    private struct Reading {
        private let resolver: Source
        private let deadline: ContinuousClock.Instant
        private var nodes = nodeLimit
        private var lookups = lookupLimit
        private var isTimeUp = false
        /// Whether a limit or the deadline suppressed a lookup or a policy.
        private(set) var isCut = false

        init(_ resolver: Source, until deadline: ContinuousClock.Instant) {
            self.resolver = resolver
            self.deadline = deadline
        }

        /// Takes one policy from the budget; false if none is left.
        mutating func beginsNode() -> Bool {
            nodes -= 1
            if nodes < 0 { isCut = true }
            return nodes >= 0
        }

        /// The outcome of a lookup; nil once the budget is spent.
        ///
        /// The first question after the deadline counts as timed out, so that the tree shows a gap.
        mutating func outcome(of question: Question) async -> LookupOutcome? {
            guard !isTimeUp, lookups > 0 else {
                isCut = true
                return nil
            }
            // The root is looked up even after the deadline: an answer at hand costs no time.
            if lookups < lookupLimit, ContinuousClock.now >= deadline {
                isTimeUp = true
                isCut = true
                return .timeout
            }
            lookups -= 1
            return await resolver.lookup(question, by: deadline)
        }
    }

    private func node(
        _ domain: DomainName,
        term: String,
        isSending: Bool,
        above: [DomainName],
        _ reading: inout Reading
    ) async -> SPFTree.Node? {
        guard reading.beginsNode() else { return nil }
        guard !above.contains(domain) else { return .leaf(domain, .loop, term: term) }
        guard let outcome = await reading.outcome(of: Question(domain, .txt)) else { return nil }
        let found = Self.own(outcome, of: domain, term: term)
        guard case .policy(let record) = found.content else { return found }
        var survey = Survey()
        survey.isSending = isSending
        for directive in record.reached {
            await survey.add(directive, of: record, at: domain, &reading)
            guard case .include(let spec) = directive.mechanism, let target = record.name(spec) else { continue }
            let child = await node(
                target,
                term: record.shown(directive),
                isSending: isSending && directive.result == .pass,
                above: above + [domain],
                &reading
            )
            if let child { survey.children.append(child) }
        }
        if let redirect = record.redirect, !record.hasAll {
            let term = "redirect=\(record.shown(redirect))"
            if let target = record.name(redirect) {
                let above = above + [domain]
                let child = await node(target, term: term, isSending: isSending, above: above, &reading)
                if let child { survey.children.append(child) }
            } else if isSending {
                survey.openTerms.append(term)
            }
        }
        return SPFTree.Node(
            domain: domain,
            content: found.content,
            children: survey.children,
            term: term,
            isSending: isSending,
            voids: (survey.voids4, survey.voids6),
            networks: survey.networks,
            everyone: survey.everyone,
            openTerms: survey.openTerms,
            unanswered: survey.unanswered,
            strings: found.strings,
            texts: found.texts
        )
    }

    /// The node for a domain's TXT records, before anything they refer to is looked up.
    private static func own(_ outcome: LookupOutcome, of domain: DomainName, term: String) -> SPFTree.Node {
        guard case .records(let answer) = outcome else {
            return .leaf(domain, outcome.isTemporary ? .unknown(outcome) : .none(outcome), term: term)
        }
        let strings = answer.texts
        let texts = strings.map(\.joinedBytes)
        let policies = zip(strings, texts).filter { SPFRecord.isPolicy($0.1) }
        guard let (parts, text) = policies.first else {
            return .leaf(domain, .none(outcome), term: term, texts: texts)
        }
        guard policies.count == 1 else {
            return .leaf(domain, .several(policies.count), term: term, strings: parts, texts: texts)
        }
        let content: SPFTree.Content
        do {
            content = .policy(try SPFRecord(parsing: text))
        } catch {
            content = .malformed(error)
        }
        return .leaf(domain, content, term: term, strings: parts, texts: texts)
    }

    /// The accumulated results of one record's terms.
    private struct Survey {
        var isSending = true
        var children: [SPFTree.Node] = []
        var voids4: [Question] = []
        var voids6: [Question] = []
        var networks: [IPNetwork] = []
        var everyone: String?
        var openTerms: [String] = []
        var unanswered: [SPFTree.Unanswered] = []

        mutating func add(
            _ directive: SPFDirective,
            of record: SPFRecord,
            at domain: DomainName,
            _ reading: inout Reading
        ) async {
            let sends = isSending && directive.result == .pass
            let term = record.shown(directive)
            func noteOpen() { if sends { openTerms.append(term) } }
            switch directive.mechanism {
            case .all: if sends { everyone = everyone ?? term }
            case .ip(let network): if sends { permit(network, by: term) }
            case .include(let spec): if spec.hasMacros { noteOpen() }
            case .exists, .ptr: noteOpen()
            case .a(let spec, let lengths):
                guard let target = record.name(spec, at: domain) else {
                    noteOpen()
                    return
                }
                await addAddresses(of: target, lengths, by: term, sends: sends, &reading)
            case .mx(let spec, let lengths):
                guard let target = record.name(spec, at: domain) else {
                    noteOpen()
                    return
                }
                let question = Question(target, .mx)
                guard let outcome = await reading.outcome(of: question) else { return }
                if outcome.isTemporary { unanswered.append(.init(question: question, outcome: outcome)) }
                if outcome.isAbsence {
                    voids4.append(question)
                    voids6.append(question)
                }
                guard case .records(let answer) = outcome else { return }
                for case .mx(_, let exchange) in answer.records.prefix(SPFEvaluator<Source>.nameLimit)
                where !exchange.isRoot {
                    await addAddresses(of: exchange, lengths, by: term, sends: sends, &reading)
                }
            }
        }

        private mutating func addAddresses(
            of name: DomainName,
            _ lengths: SPFPrefixLengths,
            by term: String,
            sends: Bool,
            _ reading: inout Reading
        ) async {
            for type in [RecordType.a, .aaaa] {
                let question = Question(name, type)
                guard let outcome = await reading.outcome(of: question) else { return }
                if outcome.isAbsence {
                    if type == .a { voids4.append(question) } else { voids6.append(question) }
                }
                if outcome.isTemporary { unanswered.append(.init(question: question, outcome: outcome)) }
                guard sends, case .records(let answer) = outcome else { continue }
                for record in answer.records {
                    if case .a(let address) = record { permit(.v4(address, length: lengths.v4), by: term) }
                    if case .aaaa(let address) = record { permit(.v6(address, length: lengths.v6), by: term) }
                }
            }
        }

        private mutating func permit(_ network: IPNetwork, by term: String) {
            networks.append(network)
            if network.isWholeFamily { everyone = everyone ?? term }
        }
    }
}

extension SPFTree.Node {
    fileprivate static func leaf(
        _ domain: DomainName,
        _ content: SPFTree.Content,
        term: String,
        strings: [[UInt8]] = [],
        texts: [[UInt8]] = []
    ) -> Self {
        Self(
            domain: domain,
            content: content,
            children: [],
            term: term,
            isSending: false,
            voids: ([], []),
            networks: [],
            everyone: nil,
            openTerms: [],
            unanswered: [],
            strings: strings,
            texts: texts
        )
    }
}

extension SPFRecord {
    /// The name that a mechanism in the policy of `domain` refers to, by default `domain`; nil if the name depends on
    /// the sender.
    fileprivate func name(_ spec: SPFDomainSpec?, at domain: DomainName) -> DomainName? {
        guard let spec else { return domain }
        return name(spec)
    }
}
