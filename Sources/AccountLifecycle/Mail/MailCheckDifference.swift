/// What changed from one check of a stream to the next.
package struct MailCheckDifference: Sendable, Hashable {
    /// Verdicts that changed, as "SPF path: ok -> broken".
    package let verdicts: [String]
    /// Findings that are new.
    package let appeared: [StoredMailCheck.StoredFinding]
    /// Findings that disappeared.
    package let gone: [StoredMailCheck.StoredFinding]
    /// Questions whose answers differ, with both answers.
    package let answers: [Answer]

    /// An answer that changed.
    package struct Answer: Sendable, Hashable {
        /// Name and type.
        package let question: String
        /// The earlier answer; nil if the question was not asked.
        package let before: String?
        /// The current answer; nil if the question is not asked any more.
        package let after: String?
    }

    /// Whether nothing changed.
    var isEmpty: Bool { verdicts.isEmpty && appeared.isEmpty && gone.isEmpty && answers.isEmpty }

    /// Compares two checks, without regard to times to live and the order of records.
    package init(from before: StoredMailCheck, to after: StoredMailCheck) {
        var verdicts: [String] = []
        for (label, old, new) in [
            ("SPF path", before.spf, after.spf), ("DKIM path", before.dkim, after.dkim),
            ("reachable", before.reachable, after.reachable),
        ] where old != new {
            verdicts.append("\(label): \(old) -> \(new)")
        }
        self.verdicts = verdicts
        // The raw strings do not make a finding different, since they appear among the answers.
        func key(_ finding: StoredMailCheck.StoredFinding) -> [String] { [finding.code, finding.subject] }
        let old = Set(before.findings.map(key))
        let new = Set(after.findings.map(key))
        self.appeared = after.findings.filter { !old.contains(key($0)) }
        self.gone = before.findings.filter { !new.contains(key($0)) }
        let oldAnswers = Self.byQuestion(before.answers)
        let newAnswers = Self.byQuestion(after.answers)
        self.answers = Set(oldAnswers.keys).union(newAnswers.keys).sorted()
            .filter { oldAnswers[$0] != newAnswers[$0] }
            .map { Answer(question: $0, before: oldAnswers[$0], after: newAnswers[$0]) }
    }

    private static func byQuestion(_ answers: [StoredMailCheck.StoredAnswer]) -> [String: String] {
        var result: [String: String] = [:]
        for answer in answers {
            let alias = answer.aliases.isEmpty ? "" : " (by \(answer.aliases.joined(separator: ", ")))"
            let content = answer.records.isEmpty ? answer.outcome : answer.records.joined(separator: "; ")
            result["\(answer.name) \(answer.type)"] = content + alias
        }
        return result
    }
}
