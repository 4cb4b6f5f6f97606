/// One fact about a stream that an operator should know, with its evidence and its fix.
package struct Finding: Sendable, Hashable {
    /// The kind of finding; stable across releases.
    package let code: FindingCode
    /// How severe the finding is in this case.
    package let severity: Severity
    /// The name that the finding is about.
    package let subject: String
    /// The problem, in one sentence.
    package let summary: String
    /// The raw DNS strings that show the problem, unprintable bytes escaped.
    package let seen: [String]
    /// The record that would fix the problem, ready to be copied.
    package let publish: Publication?

    /// The severity of a finding.
    package enum Severity: String, Sendable, Hashable, Comparable, CaseIterable {
        /// Worth knowing; nothing breaks.
        case advice
        /// Works today, but should not be relied on.
        case weak
        /// Could not be determined: DNS did not answer, or Apple's behaviour is not known for certain.
        case unknown
        /// Mail is lost because of it.
        case broken

        /// Orders severities from least to most severe.
        package static func < (left: Self, right: Self) -> Bool {
            (Self.allCases.firstIndex(of: left) ?? 0) < (Self.allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The most strings that are shown, since other people's records determine how many there are.
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

    /// A finding; the severity defaults to that of its code.
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

    /// The finding, with more words about it.
    func adding(_ words: String) -> Finding {
        Finding(code, severity, at: subject, "\(summary); \(words)", seen: seen, publish: publish)
    }

    /// The finding, with its severity lowered to weak at most because it breaks only part of the mail.
    var weakened: Finding {
        Finding(code, min(severity, .weak), at: subject, summary, seen: seen, publish: publish)
    }
}
