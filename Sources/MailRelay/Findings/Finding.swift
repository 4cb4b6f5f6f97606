/// One thing that an operator should know about a stream, with what was seen and what would mend it.
package struct Finding: Sendable, Hashable {
    /// What it is; stable across releases.
    package let code: FindingCode
    /// How much it matters here.
    package let severity: Severity
    /// The name it is about.
    package let subject: String
    /// What is the matter, in one sentence.
    package let summary: String
    /// The raw strings of DNS it was read from, unprintable bytes escaped.
    package let seen: [String]
    /// The record that would mend it, ready to be copied.
    package let publish: Publication?

    /// How much a finding matters.
    package enum Severity: String, Sendable, Hashable, Comparable, CaseIterable {
        /// Worth knowing; nothing breaks.
        case advice
        /// Works today, and should not be relied on.
        case weak
        /// Could not be told: nobody answered, or nothing sure is known of what Apple makes of it.
        case unknown
        /// Mail is lost because of it.
        case broken

        /// Compares from least to most.
        package static func < (left: Self, right: Self) -> Bool {
            (Self.allCases.firstIndex(of: left) ?? 0) < (Self.allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The most strings that are shown: others' records decide how many there are.
    private static let seenLimit = 20

    /// A record to publish.
    package struct Publication: Sendable, Hashable {
        /// The record type.
        package let type: String
        /// The full name of the record.
        package let name: String
        /// The record's value, without quotation marks.
        package let value: String
    }

    /// A finding; severity is the code's own unless the caller knows better.
    init(
        _ code: FindingCode,
        _ severity: Severity? = nil,
        at subject: String,
        _ summary: String,
        seen: [String] = [],
        publish: Publication? = nil
    ) {
        self.code = code
        self.severity = severity ?? code.severity
        self.subject = subject
        self.summary = summary
        let more = seen.count - Self.seenLimit
        self.seen = more > 0 ? seen.prefix(Self.seenLimit) + ["and \(more) more"] : seen
        self.publish = publish
    }

    /// A finding about a name.
    package init(
        _ code: FindingCode,
        _ severity: Severity? = nil,
        at subject: DomainName,
        _ summary: String,
        seen: [String] = [],
        publish: Publication? = nil
    ) {
        self.init(code, severity, at: subject.description, summary, seen: seen, publish: publish)
    }

    /// This finding where it breaks only part of the mail.
    var weakened: Finding {
        Finding(code, min(severity, .weak), at: subject, summary, seen: seen, publish: publish)
    }
}
