import MailRelay

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A stored check of a stream.
package struct StoredMailCheck: Sendable, Hashable {
    /// When it was made.
    package let checkedAt: Date
    /// The verdict on the SPF path.
    package let spf: String
    /// The verdict on the DKIM path.
    package let dkim: String
    /// Whether mail gets through.
    package let reachable: String
    /// How the check ended: ok, advice, broken or unknown.
    package let conclusion: String
    /// Whether it settled a new verdict.
    package let isChange: Bool
    /// The findings.
    package let findings: [StoredFinding]
    /// The answers of DNS.
    let answers: [StoredAnswer]

    /// A stored finding.
    package struct StoredFinding: Codable, Sendable, Hashable {
        /// The code of the finding.
        package var code: String
        /// The severity.
        package var severity: String
        /// The name that it is about.
        package var subject: String
        /// The problem in words.
        package var summary: String
        /// The raw strings.
        var seen: [String]
        /// The record that fixes it, as name, type and value in one line.
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

    /// A stored answer of DNS.
    struct StoredAnswer: Codable, Sendable, Hashable {
        /// The name queried.
        var name: String
        /// The type queried.
        var type: String
        /// The outcome of the query.
        var outcome: String
        /// The time to live; it changes all the time and makes no difference between answers.
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
            // Servers rotate the order with each query; that makes no difference between answers.
            records = outcome.shownRecords.sorted()
        }
    }
}
