/// A DMARC record (RFC 9989, 4.7).
struct DMARCRecord: Sendable, Hashable {
    /// What the domain asks for its own mail; nil when the record does not say, or not intelligibly.
    let policy: Policy?
    /// What it asks for mail of its sub-domains that exist.
    let subdomainPolicy: Policy?
    /// Whether DKIM must be signed by the very From domain.
    let strictDKIM: Bool
    /// Whether the envelope domain must be the very From domain.
    let strictSPF: Bool
    /// Whether the domain is a public suffix.
    let publicSuffix: PublicSuffix
    /// Whether the policy is being tried out.
    let isTesting: Bool
    /// Where aggregate reports go.
    let reportAddresses: [String]
    /// Tags that the new text removed.
    let historicTags: [String]
    /// What could not be read and was left out.
    let skipped: [TagList.Problem]

    /// What receivers are asked to do with mail that fails.
    enum Policy: String, Sendable, Hashable {
        /// Nothing.
        case none
        /// Treat it as suspicious.
        case quarantine
        /// Refuse it.
        case reject

        /// What is applied while the policy is being tried out (`t=y`).
        var milder: Policy {
            switch self {
            case .none, .quarantine: .none
            case .reject: .quarantine
            }
        }
    }

    /// What a record says about its domain's place in the tree.
    enum PublicSuffix: String, Sendable, Hashable {
        /// It is a public suffix.
        case yes = "y"
        /// It is the organisational domain.
        case no = "n"
        /// It does not say.
        case unstated = "u"
    }

    /// Why text that begins as a record is none.
    enum Problem: Error, Sendable, Hashable {
        /// A policy (`p` or `sp`) with a word nobody knows, and no report address that would make it count as "none".
        case badPolicy(tag: String, word: String)
    }

    /// Whether text claims to be a record: `v=DMARC1` first, with that very case, then a semicolon or nothing.
    static func isRecord(_ text: [UInt8]) -> Bool {
        guard let first = text.split(separator: UInt8(ascii: ";"), maxSplits: 1).first else { return false }
        let parts = first.split(separator: UInt8(ascii: "="), maxSplits: 1)
        return parts.count == 2 && Array(parts[0].trimmed) == Array("v".utf8)
            && Array(parts[1].trimmed) == Array("DMARC1".utf8)
    }

    /// Reads text that ``isRecord(_:)`` has accepted.
    ///
    /// Only its version can make a record none; other parts that cannot be read are left out, as receivers do it.
    init(_ text: [UInt8]) throws(Problem) {
        let list = TagList(lenient: text)
        func policy(_ tag: String) -> Policy? {
            list.words(tag)?.first.flatMap { Policy(rawValue: $0) }
        }
        let reports = (list.words("rua", separator: UInt8(ascii: ",")) ?? []).filter { $0.hasPrefix("mailto:") }
        let wrong = ["p", "sp"].first { list[$0] != nil && policy($0) == nil }
        if let wrong, reports.isEmpty { throw .badPolicy(tag: wrong, word: list.text(wrong) ?? "") }
        // With one of them wrong, both count as “none”.
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
