/// A DMARC record (RFC 9989, 4.7).
package struct DMARCRecord: Sendable, Hashable {
    /// What the domain asks for its own mail; nil when the record does not say, or not intelligibly.
    package let policy: Policy?
    /// What it asks for mail of its sub-domains that exist.
    package let subdomainPolicy: Policy?
    /// Whether DKIM must be signed by the very From domain.
    package let strictDKIM: Bool
    /// Whether the envelope domain must be the very From domain.
    package let strictSPF: Bool
    /// Whether the domain is a public suffix.
    package let publicSuffix: PublicSuffix
    /// Whether the policy is being tried out.
    package let isTesting: Bool
    /// Where aggregate reports go.
    package let reportAddresses: [String]
    /// Tags that the new text removed.
    package let historicTags: [String]

    /// What receivers are asked to do with mail that fails.
    package enum Policy: String, Sendable, Hashable {
        /// Nothing.
        case none
        /// Treat it as suspicious.
        case quarantine
        /// Refuse it.
        case reject

        /// What is applied while the policy is being tried out (`t=y`).
        package var milder: Policy {
            switch self {
            case .none, .quarantine: .none
            case .reject: .quarantine
            }
        }
    }

    /// What a record says about its domain's place in the tree.
    package enum PublicSuffix: String, Sendable, Hashable {
        /// It is a public suffix.
        case yes = "y"
        /// It is the organisational domain.
        case no = "n"
        /// It does not say.
        case unstated = "u"
    }

    /// Why text that begins as a record is none.
    package enum Problem: Error, Sendable, Hashable {
        /// It is no tag list.
        case syntax(TagList.Problem)
        /// A policy with a word nobody knows, and no report address that would make it count as "none".
        case badPolicy(String)
    }

    /// Whether text claims to be a record: `v=DMARC1` first, with that very case, then a semicolon or nothing.
    package static func isRecord(_ text: [UInt8]) -> Bool {
        guard let first = text.split(separator: UInt8(ascii: ";"), maxSplits: 1).first else { return false }
        let parts = first.split(separator: UInt8(ascii: "="), maxSplits: 1)
        return parts.count == 2 && Array(parts[0].trimmed) == Array("v".utf8)
            && Array(parts[1].trimmed) == Array("DMARC1".utf8)
    }

    /// Reads text that ``isRecord(_:)`` has accepted.
    package init(_ text: [UInt8]) throws(Problem) {
        let list: TagList
        do {
            list = try TagList(text)
        } catch {
            throw .syntax(error)
        }
        func policy(_ tag: String) -> Policy? {
            list.words(tag)?.first.flatMap { Policy(rawValue: $0) }
        }
        let reports = (list.words("rua", separator: UInt8(ascii: ",")) ?? []).filter { $0.hasPrefix("mailto:") }
        if let said = list.text("p"), policy("p") == nil {
            guard !reports.isEmpty else { throw .badPolicy(said) }
        }
        self.policy = policy("p")
        self.subdomainPolicy = policy("sp")
        self.strictDKIM = list.words("adkim")?.first == "s"
        self.strictSPF = list.words("aspf")?.first == "s"
        self.publicSuffix = list.words("psd")?.first.flatMap { PublicSuffix(rawValue: $0) } ?? .unstated
        self.isTesting = list.words("t")?.first == "y"
        self.reportAddresses = reports
        self.historicTags = ["pct", "rf", "ri"].filter { list[$0] != nil }
    }
}
