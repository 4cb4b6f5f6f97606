/// What a check of one stream found.
package struct StreamReport: Sendable {
    /// The stream as it was checked.
    package let stream: MailStream
    /// The verdict.
    package let verdict: StreamVerdict
    /// The findings, the most serious first.
    package let findings: [Finding]
    /// Every answer of DNS the report rests on, ordered by name.
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

    /// The four ends a check can have; commands turn them into exit codes.
    package enum Conclusion: String, Sendable, Hashable, CaseIterable {
        /// Mail gets through and nothing is to be said.
        case ok
        /// Mail gets through and something should be mended.
        case advice
        /// Mail does not get through.
        case broken
        /// It cannot be told.
        case unknown
    }

    /// How the check ended.
    package var conclusion: Conclusion {
        switch verdict.reachable {
        case .no: .broken
        case .unknown: .unknown
        case .yes: findings.isEmpty ? .ok : .advice
        }
    }
}
