/// A DMARC record (RFC 9989, 4.7).
struct DMARCRecord: Sendable, Hashable {
    /// What the domain asks for its own mail; nil if the record states no readable policy.
    let policy: Policy?
    /// What the domain asks for mail of its existing sub-domains.
    let subdomainPolicy: Policy?
    /// Whether the DKIM signing domain must equal the From domain.
    let strictDKIM: Bool
    /// Whether the envelope domain must equal the From domain.
    let strictSPF: Bool
    /// Whether the domain is a public suffix.
    let publicSuffix: PublicSuffix
    /// Whether the policy is in test mode (`t=y`).
    let isTesting: Bool
    /// Where aggregate reports go.
    let reportAddresses: [String]
    /// Tags that RFC 9989 removed.
    let historicTags: [String]
    /// The parts that could not be read and were skipped.
    let skipped: [TagList.Problem]

    /// What receivers are asked to do with mail that fails.
    enum Policy: String, Sendable, Hashable {
        /// Ask for nothing.
        case none
        /// Treat the mail as suspicious.
        case quarantine
        /// Refuse the mail.
        case reject

        /// The policy that receivers apply in test mode (`t=y`).
        var milder: Policy {
            switch self {
            case .none, .quarantine: .none
            case .reject: .quarantine
            }
        }
    }

    /// What a record says about its domain's position in the tree.
    enum PublicSuffix: String, Sendable, Hashable {
        /// The domain is a public suffix.
        case yes = "y"
        /// The domain is the organisational domain.
        case no = "n"
        /// The record does not say.
        case unstated = "u"
    }

    /// Why text that begins like a record is not one.
    enum Problem: Error, Sendable, Hashable {
        /// A policy (`p` or `sp`) with an unknown value, and no report address that would make the policy count as
        /// "none".
        case badPolicy(tag: String, word: String)
    }

    /// Whether text claims to be a record: it begins with `v=DMARC1` in exactly that case, then has a semicolon or
    /// ends.
    static func isRecord(_ text: [UInt8]) -> Bool {
        guard let first = text.split(separator: UInt8(ascii: ";"), maxSplits: 1).first else { return false }
        let parts = first.split(separator: UInt8(ascii: "="), maxSplits: 1)
        return parts.count == 2 && Array(parts[0].trimmed) == Array("v".utf8)
            && Array(parts[1].trimmed) == Array("DMARC1".utf8)
    }

    /// Parses text that ``isRecord(_:)`` has accepted.
    ///
    /// Only an unknown policy value without a report address invalidates the record; other unreadable parts are
    /// skipped, as receivers do.
    init(_ text: [UInt8]) throws(Problem) {
        let list = TagList(lenient: text)
        func policy(_ tag: String) -> Policy? {
            list.words(tag)?.first.flatMap { Policy(rawValue: $0) }
        }
        let reports = (list.words("rua", separator: UInt8(ascii: ",")) ?? []).filter { $0.hasPrefix("mailto:") }
        let wrong = ["p", "sp"].first { list[$0] != nil && policy($0) == nil }
        if let wrong, reports.isEmpty { throw .badPolicy(tag: wrong, word: list.text(wrong) ?? "") }
        // If either policy is invalid, both count as “none”.
        self.policy = wrong == nil ? policy("p") : nil
        self.subdomainPolicy = wrong == nil ? policy("sp") : nil
        self.strictDKIM = list.words("adkim")?.first == "s"
        self.strictSPF = list.words("aspf")?.first == "s"
        self.publicSuffix = list.words("psd")?.first.flatMap { PublicSuffix(rawValue: $0) } ?? .unstated
        self.isTesting = list.words("t")?.first == "y"
        self.reportAddresses = reports
        self.historicTags = ["pct", "rf", "ri"].filter { list[$0] != nil }
        self.skipped = list.skipped
    }
}
