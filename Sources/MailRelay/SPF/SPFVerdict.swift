/// One domain's policy under evaluation.
struct SPFPolicy: ~Copyable {
    let domain: DomainName
    let record: SPFRecord
    /// How deep in includes and redirects.
    let depth: Int
}

/// What evaluating a policy came to.
struct SPFVerdict: ~Copyable {
    let result: SPFResult
    /// The policy that decided: not the first one after a redirect.
    let policy: SPFPolicy
    /// Where in its record the directive stands that decided; nil where none did.
    let decisive: Range<Int>?

    consuming func match() -> SPFEvaluation.Match? {
        guard let decisive else { return nil }
        return SPFEvaluation.Match(domain: policy.domain, source: policy.record.text[decisive])
    }
}

/// What ends a run before its verdict.
enum SPFStop: Error {
    /// There is no result that one could act on.
    case problem(SPFProblem)
    /// This must be asked first.
    case missing(Question)
}

/// That an evaluation cannot go on without an answer.
struct SPFUnanswered: Error {
    let question: Question
}
