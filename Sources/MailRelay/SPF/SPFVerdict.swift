/// One domain's policy under evaluation.
struct SPFPolicy: ~Copyable {
    let domain: DomainName
    let record: SPFRecord
    /// The depth of includes and redirects.
    let depth: Int
}

/// The result of evaluating a policy.
struct SPFVerdict: ~Copyable {
    let result: SPFResult
    /// The policy that decided; after a redirect, this is the target's.
    let policy: SPFPolicy
    /// The range of the deciding directive in its record; nil if none decided.
    let decisive: Range<Int>?

    consuming func match() -> SPFEvaluation.Match? {
        guard let decisive else { return nil }
        return SPFEvaluation.Match(domain: policy.domain, source: policy.record.text[decisive])
    }
}

/// Why a run stops before its verdict.
enum SPFStop: Error {
    /// The evaluation has no usable result.
    case problem(SPFProblem)
    /// This question must be answered first.
    case missing(Question)
}

/// Thrown when an evaluation needs an answer before it can go on.
struct SPFUnanswered: Error {
    let question: Question
}
