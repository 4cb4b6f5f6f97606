/// One evaluation under way: what it has used up, and what it has seen.
struct SPFRun<Source: Resolver> {
    let resolver: Source
    let deadline: ContinuousClock.Instant
    let tracing: Bool
    var values: SPFMacro.Values
    private var terms = 0
    private var voids = 0
    private var trace: [SPFTraceStep] = []
    /// What reverse DNS says of the client, asked once: a lookup that found nothing counts once as such.
    private var reversePointers: [DomainName]?
    private var confirmedPointers: [DomainName: Bool] = [:]

    /// What evaluating one domain's policy came to.
    struct Verdict {
        var result: SPFResult
        var domain: DomainName
        var explanation: SPFDomainSpec?
        var match: SPFEvaluation.Match?
        var problem: SPFProblem?
    }

    /// What ends an evaluation before its result.
    private struct Stop: Error {
        let problem: SPFProblem
    }

    init(resolver: Source, deadline: ContinuousClock.Instant, tracing: Bool, values: SPFMacro.Values) {
        self.resolver = resolver
        self.deadline = deadline
        self.tracing = tracing
        self.values = values
    }

    func finished(
        _ result: SPFResult,
        explanation: String? = nil,
        match: SPFEvaluation.Match? = nil,
        problem: SPFProblem? = nil
    ) -> SPFEvaluation {
        SPFEvaluation(
            result: result,
            explanation: explanation,
            terms: terms,
            voids: voids,
            match: match,
            problem: problem,
            trace: trace
        )
    }

    // MARK: The policy of one domain

    /// Evaluates the policy of `domain`; the macro values name it already.
    mutating func check(_ domain: DomainName, depth: Int) async -> Verdict {
        do {
            let record = try await policy(of: domain, depth: depth)
            return try await apply(record, of: domain, depth: depth)
        } catch {
            return Verdict(result: error.problem.result, domain: domain, problem: error.problem)
        }
    }

    private mutating func policy(of domain: DomainName, depth: Int) async throws(Stop) -> SPFRecord {
        let question = Question(domain, .txt)
        let policies: [[UInt8]]
        switch await resolver.lookup(question, by: deadline) {
        case .records(let answer):
            policies = answer.records.compactMap { record in
                guard case .text(let strings) = record else { return nil }
                let text = strings.count == 1 ? strings[0] : Array(strings.joined())
                return SPFRecord.isPolicy(text) ? text : nil
            }
        case .noData, .nxDomain:
            policies = []
        case let outcome:
            throw Stop(problem: .lookup(question, outcome))
        }
        guard let text = policies.first else { throw Stop(problem: .noPolicy(domain)) }
        guard policies.count == 1 else { throw Stop(problem: .severalPolicies(domain, count: policies.count)) }
        if tracing { note(depth, domain, PrintableBytes.escaped(text), "policy") }
        do {
            return try SPFRecord(parsing: text)
        } catch {
            throw Stop(problem: .syntax(error, in: domain))
        }
    }

    private mutating func apply(_ record: SPFRecord, of domain: DomainName, depth: Int) async throws(Stop) -> Verdict {
        for directive in record.directives {
            let matches: Bool
            do {
                matches = try await match(directive.mechanism, domain, depth: depth)
            } catch {
                if tracing {
                    note(depth, domain, directive.source, "\(error.problem.result.rawValue): \(error.problem)")
                }
                throw error
            }
            if tracing { note(depth, domain, directive.source, matches ? directive.result.rawValue : "no match") }
            guard matches else { continue }
            return Verdict(
                result: directive.result,
                domain: domain,
                explanation: record.explanation,
                match: SPFEvaluation.Match(domain: domain, term: String(decoding: directive.source, as: UTF8.self))
            )
        }
        guard let redirect = record.redirect else { return Verdict(result: .neutral, domain: domain) }
        return try await follow(redirect, from: domain, depth: depth)
    }

    private mutating func follow(
        _ redirect: SPFDomainSpec,
        from domain: DomainName,
        depth: Int
    ) async throws(Stop) -> Verdict {
        try countTerm()
        guard let target = try await name(redirect, domain) else {
            throw Stop(problem: .targetWithoutPolicy(redirect.description))
        }
        if tracing { note(depth, domain, "redirect=\(redirect)", "to \(target)") }
        let outer = values.domain
        values.domain = target.dottedBytes
        let verdict = await check(target, depth: depth + 1)
        values.domain = outer
        if case .noPolicy = verdict.problem { throw Stop(problem: .targetWithoutPolicy(target.description)) }
        return verdict
    }

    // MARK: Mechanisms

    private mutating func match(
        _ mechanism: SPFMechanism,
        _ domain: DomainName,
        depth: Int
    ) async throws(Stop) -> Bool {
        if mechanism.causesLookup { try countTerm() }
        switch mechanism {
        case .all:
            return true
        case .ip(let network):
            return network.contains(values.address)
        case .include(let spec):
            return try await include(spec, domain, depth: depth)
        case .a(let spec, let lengths):
            guard let target = try await target(spec, domain) else { return false }
            return try await addresses(of: target, include: lengths)
        case .mx(let spec, let lengths):
            guard let target = try await target(spec, domain) else { return false }
            return try await exchangers(of: target, include: lengths)
        case .ptr(let spec):
            guard let target = try await target(spec, domain) else { return false }
            for name in try await reverseNames() where name.isWithin(target) {
                if try await leadsBack(name) { return true }
            }
            return false
        case .exists(let spec):
            guard let target = try await name(spec, domain) else { return false }
            // Always A, whatever the family of the client (RFC 7208, 5.7).
            return try await !records(Question(target, .a)).isEmpty
        }
    }

    private mutating func include(_ spec: SPFDomainSpec, _ domain: DomainName, depth: Int) async throws(Stop) -> Bool {
        guard let target = try await name(spec, domain) else {
            throw Stop(problem: .targetWithoutPolicy(spec.description))
        }
        let outer = values.domain
        values.domain = target.dottedBytes
        let verdict = await check(target, depth: depth + 1)
        values.domain = outer
        switch verdict.result {
        case .pass: return true
        case .fail, .softfail, .neutral: return false
        case .none: throw Stop(problem: .targetWithoutPolicy(target.description))
        case .temperror, .permerror: throw Stop(problem: verdict.problem ?? .targetWithoutPolicy(target.description))
        }
    }

    private mutating func addresses(of name: DomainName, include lengths: SPFPrefixLengths) async throws(Stop) -> Bool {
        for record in try await records(Question(name, addressType)) {
            switch record {
            case .a(let address):
                if IPNetwork.v4(address, length: lengths.v4).contains(values.address) { return true }
            case .aaaa(let address):
                if IPNetwork.v6(address, length: lengths.v6).contains(values.address) { return true }
            default: continue
            }
        }
        return false
    }

    private mutating func exchangers(of name: DomainName, include lengths: SPFPrefixLengths) async throws(Stop) -> Bool
    {
        let exchangers = try await records(Question(name, .mx))
        guard exchangers.count <= SPFEvaluator<Source>.nameLimit else {
            throw Stop(problem: .tooManyExchangers(name, count: exchangers.count))
        }
        for record in exchangers {
            guard case .mx(_, let exchange) = record, !exchange.isRoot else { continue }
            if try await addresses(of: exchange, include: lengths) { return true }
        }
        return false
    }

    /// The reverse names of the client, as many as are looked at.
    ///
    /// DNS errors count as "no such name" here (RFC 7208, 5.5).
    private mutating func reverseNames() async throws(Stop) -> [DomainName] {
        if let reversePointers { return reversePointers }
        var names: [DomainName] = []
        reversePointers = names
        if let reverse = try? values.address.reverseName {
            for case .ptr(let name) in try await recordsIfAny(Question(reverse, .ptr)) ?? [] where !name.isRoot {
                names.append(name)
            }
        }
        names = Array(names.prefix(SPFEvaluator<Source>.nameLimit))
        reversePointers = names
        return names
    }

    /// Whether a reverse name leads back to the client.
    private mutating func leadsBack(_ name: DomainName) async throws(Stop) -> Bool {
        if let known = confirmedPointers[name] { return known }
        confirmedPointers[name] = false
        let leadsBack = try await recordsIfAny(Question(name, addressType))?.contains { record in
            switch record {
            case .a(let address): values.address == .v4(address)
            case .aaaa(let address): values.address == .v6(address)
            default: false
            }
        }
        confirmedPointers[name] = leadsBack == true
        return leadsBack == true
    }

    private var addressType: RecordType {
        switch values.address {
        case .v4: .a
        case .v6: .aaaa
        }
    }

    // MARK: Names

    /// The name a mechanism speaks of; nil when it expands to something that is no name, which then matches nothing.
    private mutating func target(_ spec: SPFDomainSpec?, _ domain: DomainName) async throws(Stop) -> DomainName? {
        guard let spec else { return domain }
        return try await name(spec, domain)
    }

    private mutating func name(_ spec: SPFDomainSpec, _ domain: DomainName) async throws(Stop) -> DomainName? {
        guard spec.hasMacros else { return spec.literal }
        try await prepareValidatedName(for: spec.source, domain)
        var expanded = SPFMacro.expand(spec.source, values)
        if expanded.last == UInt8(ascii: ".") { expanded.removeLast() }
        // Too long: labels go from the left until it fits (RFC 7208, 7.3).
        while expanded.count > 253, let dot = expanded.firstIndex(of: UInt8(ascii: ".")) {
            expanded.removeSubrange(...dot)
        }
        return try? DomainName(dotted: expanded)
    }

    private mutating func prepareValidatedName(for text: [UInt8], _ domain: DomainName) async throws(Stop) {
        guard SPFMacro.asksForValidatedName(text) else { return }
        // The domain itself is preferred, then a name within it, then any (RFC 7208, 7.3).
        let names = try await reverseNames()
        let own = names.filter { $0 == domain }
        let within = names.filter { $0 != domain && $0.isWithin(domain) }
        let others = names.filter { $0 != domain && !$0.isWithin(domain) }
        values.validatedName = Array("unknown".utf8)
        for name in own + within + others where try await leadsBack(name) {
            values.validatedName = name.dottedBytes
            return
        }
    }

    // MARK: Lookups

    private mutating func countTerm() throws(Stop) {
        terms += 1
        guard terms <= SPFEvaluator<Source>.termLimit else { throw Stop(problem: .tooManyTerms) }
    }

    private mutating func records(_ question: Question) async throws(Stop) -> [RecordData] {
        let outcome = await resolver.lookup(question, by: deadline)
        switch outcome {
        case .records(let answer):
            return answer.records
        case .noData, .nxDomain:
            voids += 1
            guard voids <= SPFEvaluator<Source>.voidLimit else { throw Stop(problem: .tooManyVoids(question)) }
            return []
        case .serverFailure, .timeout, .refused, .unreachable, .badReply:
            throw Stop(problem: .lookup(question, outcome))
        }
    }

    /// Like ``records(_:)``, nil instead of a failure of DNS.
    private mutating func recordsIfAny(_ question: Question) async throws(Stop) -> [RecordData]? {
        do {
            return try await records(question)
        } catch {
            if case .lookup = error.problem { return nil }
            throw error
        }
    }

    // MARK: Explanation

    /// The text behind `exp=`; nil where anything is wrong with it, since it must not change the result (RFC 7208, 6.2).
    mutating func explanation(_ spec: SPFDomainSpec, domain: DomainName) async -> String? {
        values.domain =
            domain == (try? DomainName(dotted: values.senderDomain)) ? values.senderDomain : domain.dottedBytes
        guard let target = try? await name(spec, domain),
            case .records(let answer) = await resolver.lookup(Question(target, .txt), by: deadline),
            answer.records.count == 1, case .text(let strings)? = answer.records.first
        else { return nil }
        let text = Array(strings.joined())
        guard text.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), SPFMacro.isWellFormed(text[...], letters: .all) else {
            return nil
        }
        do {
            try await prepareValidatedName(for: text, domain)
        } catch {
            return nil
        }
        return PrintableBytes.escaped(SPFMacro.expand(text, values))
    }

    // MARK: Trace

    private mutating func note(_ depth: Int, _ domain: DomainName, _ term: [UInt8], _ outcome: String) {
        note(depth, domain, PrintableBytes.escaped(term), outcome)
    }

    private mutating func note(_ depth: Int, _ domain: DomainName, _ term: String, _ outcome: String) {
        trace.append(SPFTraceStep(depth: depth, domain: domain.description, term: term, outcome: outcome))
    }
}

extension SPFProblem {
    /// The result a problem leads to.
    var result: SPFResult {
        switch self {
        case .unusableDomain, .noPolicy: .none
        case .lookup: .temperror
        case .severalPolicies, .syntax, .targetWithoutPolicy, .tooManyTerms, .tooManyVoids, .tooManyExchangers:
            .permerror
        }
    }
}

extension DomainName {
    /// The labels with dots between them, unescaped: the form SPF macros take names apart in.
    var dottedBytes: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(wire.count)
        var index = 0
        while index < wire.count {
            let end = index + 1 + Int(wire[index])
            if index > 0 { output.append(UInt8(ascii: ".")) }
            output.append(contentsOf: wire[(index + 1)..<end])
            index = end
        }
        return output
    }
}
