/// The result of checking one stream.
package struct StreamReport: Sendable {
    /// The stream as it was checked.
    package let stream: MailStream
    /// The verdict.
    package let verdict: StreamVerdict
    /// The findings, the most serious first.
    package let findings: [Finding]
    /// All DNS answers that the report is based on, ordered by name.
    package let answers: [(question: Question, outcome: LookupOutcome)]

    /// A report.
    package init(
        stream: MailStream,
        verdict: StreamVerdict,
        findings: [Finding],
        answers: [(question: Question, outcome: LookupOutcome)]
    ) {
        self.stream = stream
        self.verdict = verdict
        self.findings = findings
        self.answers = answers
    }

    /// The four possible conclusions of a check; commands map them to exit codes.
    package enum Conclusion: String, Sendable, Hashable, CaseIterable {
        /// Mail gets through, and there is nothing to report.
        case ok
        /// Mail gets through, and something should be fixed.
        case advice
        /// Mail does not get through.
        case broken
        /// Whether mail gets through is unknown.
        case unknown
    }

    /// The conclusion of the check.
    package var conclusion: Conclusion {
        switch verdict.reachable {
        case .no: .broken
        case .unknown: .unknown
        case .yes: findings.isEmpty ? .ok : .advice
        }
    }
}
