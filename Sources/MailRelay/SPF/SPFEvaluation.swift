/// The outcome of an SPF evaluation.
package struct SPFEvaluation: Sendable, Hashable {
    /// The result.
    package let result: SPFResult
    /// The domain owner's explanation of a fail; nil if there is none (RFC 7208, 6.2).
    package let explanation: String?
    /// How many of the ten allowed terms that cause lookups were used.
    package let terms: Int
    /// How many of the two allowed void lookups were used.
    package let voids: Int
    /// The directive that decided the result, with its domain.
    package let match: Match?
    /// Why the result is permerror, temperror or none.
    package let problem: SPFProblem?
    /// The steps in order; empty unless tracing was requested.
    package let trace: [SPFTraceStep]

    init(
        _ result: SPFResult,
        explanation: String? = nil,
        terms: Int = 0,
        voids: Int = 0,
        match: Match? = nil,
        problem: SPFProblem? = nil,
        trace: [SPFTraceStep] = []
    ) {
        self.result = result
        self.explanation = explanation
        self.terms = terms
        self.voids = voids
        self.match = match
        self.problem = problem
        self.trace = trace
    }

    /// The directive that decided the result.
    package struct Match: Sendable, Hashable {
        /// The domain whose record holds it.
        package let domain: DomainName
        /// The term as written in the record.
        let source: ArraySlice<UInt8>

        /// The term as published.
        package var term: String { String(decoding: source, as: UTF8.self) }
    }
}

/// One step of an evaluation.
package struct SPFTraceStep: Sendable, Hashable {
    /// The depth of includes and redirects.
    package let depth: Int
    /// The domain whose record is being read.
    package let domain: String
    /// The term, or the whole record at the start of a policy.
    package let term: String
    /// The outcome of the step.
    package let outcome: String
}

/// Why an evaluation has no usable result.
package enum SPFProblem: Sendable, Hashable {
    /// The sender's domain is not a name that could have a policy.
    case unusableDomain(ArraySlice<UInt8>)
    /// The domain has no policy.
    case noPolicy(DomainName)
    /// The domain has several policies.
    case severalPolicies(DomainName, count: Int)
    /// A policy breaks the grammar.
    case syntax(SPFSyntaxError, in: DomainName)
    /// An include or redirect leads to a domain without a policy.
    case targetWithoutPolicy(DomainName)
    /// An include or redirect leads to text that is not a domain name.
    case unusableTarget(ArraySlice<UInt8>)
    /// More than ten terms that cause lookups.
    case tooManyTerms
    /// More than two void lookups.
    case tooManyVoids(Question)
    /// A domain with more than ten mail exchangers.
    case tooManyExchangers(DomainName, count: Int)
    /// DNS did not answer.
    case lookup(Question, LookupOutcome)
}

extension SPFProblem {
    /// The result that the problem leads to.
    var result: SPFResult {
        switch self {
        case .unusableDomain, .noPolicy: .none
        case .lookup: .temperror
        case .severalPolicies, .syntax, .targetWithoutPolicy, .unusableTarget, .tooManyTerms, .tooManyVoids,
            .tooManyExchangers:
            .permerror
        }
    }
}

extension SPFProblem: CustomStringConvertible {
    /// The problem in words for an operator.
    package var description: String {
        switch self {
        case .unusableDomain(let text):
            "“\(PrintableBytes.escaped(text))” cannot have a policy: it is not a full domain name"
        case .noPolicy(let name): "\(name) publishes no SPF policy"
        case .severalPolicies(let name, let count): "\(name) publishes \(count) SPF policies, at most one is allowed"
        case .syntax(let error, let name): "the SPF policy of \(name) is malformed: \(error)"
        case .targetWithoutPolicy(let name): "\(name) is included or redirected to, but publishes no SPF policy"
        case .unusableTarget(let text):
            "\(PrintableBytes.escaped(text)) is included or redirected to, but publishes no SPF policy"
        case .tooManyTerms: "more than 10 terms that cause lookups"
        case .tooManyVoids(let question): "more than 2 lookups found nothing, the last one \(question)"
        case .tooManyExchangers(let name, let count): "\(name) has \(count) mail exchangers, at most 10 are allowed"
        case .lookup(let question, let outcome): "\(question): \(outcome)"
        }
    }
}

extension SPFSyntaxError: CustomStringConvertible {
    /// The mistake and its term; bytes that are not printable ASCII are escaped.
    package var description: String {
        let shown = PrintableBytes.escaped(term)
        return switch code {
        case .unknownMechanism: "“\(shown)” is not a mechanism"
        case .missingArgument: "“\(shown)” lacks its domain or address"
        case .unexpectedArgument: "“\(shown)” has an argument that it cannot take"
        case .badDomain: "“\(shown)” does not name a full domain"
        case .badMacro: "“\(shown)” holds a malformed macro"
        case .badIPv4: "“\(shown)” holds no IPv4 address"
        case .badIPv6: "“\(shown)” holds no IPv6 address"
        case .badPrefixLength: "“\(shown)” has a malformed prefix length"
        case .duplicateModifier: "“\(shown)” appears twice"
        case .badModifierName: "“\(shown)” has no proper name before the equals sign"
        case .badByte: "“\(shown)” holds a character that is not printable ASCII"
        }
    }
}
