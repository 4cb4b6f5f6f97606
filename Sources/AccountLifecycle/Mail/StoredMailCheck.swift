import MailRelay

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One check of a stream as it is kept.
package struct StoredMailCheck: Sendable, Hashable {
    /// When it was made.
    package let checkedAt: Date
    /// What it saw of the SPF path, the DKIM path and the whole.
    package let spf: String
    /// The DKIM path.
    package let dkim: String
    /// Whether mail gets through.
    package let reachable: String
    /// How the check ended: ok, advice, broken or unknown.
    package let conclusion: String
    /// Whether it settled a new verdict.
    package let isChange: Bool
    /// What was found.
    package let findings: [StoredFinding]
    /// What DNS answered.
    let answers: [StoredAnswer]

    /// A finding as it is kept.
    package struct StoredFinding: Codable, Sendable, Hashable {
        /// The code of the finding.
        package var code: String
        /// How much it matters.
        package var severity: String
        /// The name it is about.
        package var subject: String
        /// What is the matter.
        package var summary: String
        /// The raw strings.
        var seen: [String]
        /// The record that mends it, as name, type and value in one line.
        package var publish: String?

        init(_ finding: Finding) {
            code = finding.code.rawValue
            severity = finding.severity.rawValue
            subject = finding.subject
            summary = finding.summary
            seen = finding.seen
            publish = finding.publish.map { "\($0.name). \($0.type) \($0.value)" }
        }
    }

    /// An answer of DNS as it is kept.
    struct StoredAnswer: Codable, Sendable, Hashable {
        /// The name asked about.
        var name: String
        /// The type asked for.
        var type: String
        /// What came of it.
        var outcome: String
        /// How long it may be kept; changes all the time and is no difference.
        var ttl: Int?
        /// The aliases followed.
        var aliases: [String]
        /// The records, in a fixed order.
        var records: [String]

        init(_ question: Question, _ outcome: LookupOutcome) {
            name = question.name.description
            type = question.type.description
            self.outcome = outcome.description
            ttl = outcome.ttl
            aliases = outcome.chain.map(\.description)
            // Servers turn the order around for each question; that is no difference.
            records = outcome.shownRecords.sorted()
        }
    }
}
