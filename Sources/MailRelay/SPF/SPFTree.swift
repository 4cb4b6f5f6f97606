/// A policy with everything it includes, read in full without stopping at a match, for limits, remarks and ranges.
struct SPFTree: Sendable {
    /// The node of the domain that was read.
    let root: Node
    /// Whether reading stopped before the end of the tree.
    let isCut: Bool

    /// One domain's policy.
    struct Node: Sendable {
        /// The domain that publishes the policy.
        let domain: DomainName
        /// What was found.
        let content: Content
        /// The policies that includes and redirects lead to, in the order of the record.
        let children: [Node]
        /// The term that leads to this node; empty at the root.
        let term: String
        /// Whether a pass here permits the sender, which an include above with a qualifier other than “+” prevents.
        let isSending: Bool
        /// Void lookups of this record's own terms, for IPv4 senders and for IPv6 senders.
        let voids: (v4: [Question], v6: [Question])
        /// The ranges that `ip4`, `ip6`, `a` and `mx` terms permit.
        let networks: [IPNetwork]
        /// The first term that permits every sender, at least of IPv4 or of IPv6; nil if there is none.
        let everyone: String?
        /// Terms whose meaning depends on the sender.
        let openTerms: [String]
        /// Lookups of this record's own terms that DNS did not answer.
        let unanswered: [Unanswered]
        /// The strings of the record, not joined.
        let strings: [[UInt8]]
        /// All TXT records of the name, each with its strings joined.
        let texts: [[UInt8]]
    }

    /// A question that DNS did not answer.
    struct Unanswered: Sendable {
        /// The unanswered question.
        let question: Question
        /// The outcome instead of an answer.
        let outcome: LookupOutcome
    }

    /// What was found at a domain.
    enum Content: Sendable {
        /// A valid policy.
        case policy(SPFRecord)
        /// A policy with a syntax error.
        case malformed(SPFSyntaxError)
        /// Several policies.
        case several(Int)
        /// No policy; the outcome shows whether the name exists.
        case none(LookupOutcome)
        /// DNS did not answer.
        case unknown(LookupOutcome)
        /// A domain that is already being read further up the tree.
        case loop
    }

    /// All nodes, the root first.
    var nodes: [Node] {
        var all: [Node] = []
        var waiting = [root]
        while let node = waiting.popLast() {
            all.append(node)
            waiting.append(contentsOf: node.children.reversed())
        }
        return all
    }

    /// All lookups of the tree that DNS did not answer; if there are any, the networks found are incomplete.
    var gaps: [Unanswered] {
        nodes.flatMap { node in
            guard case .unknown(let outcome) = node.content else { return node.unanswered }
            return [Unanswered(question: Question(node.domain, .txt), outcome: outcome)]
        }
    }

    /// Whether the whole tree was read and permits no sender.
    var letsNobodySend: Bool {
        gaps.isEmpty && !isCut
            && nodes.allSatisfy { $0.networks.isEmpty && $0.openTerms.isEmpty && $0.everyone == nil }
    }

    /// The number of terms in the whole tree that cause lookups, which is the cost of a sender that matches nothing.
    var terms: Int {
        nodes.reduce(0) { $0 + $1.terms }
    }
}

extension SPFTree.Node {
    /// How many terms of this record cause lookups.
    var terms: Int {
        guard case .policy(let record) = content else { return 0 }
        let own = record.reached.count { $0.mechanism.causesLookup }
        return own + (record.redirect != nil && !record.hasAll ? 1 : 0)
    }
}

extension SPFRecord {
    /// Whether a directive matches every sender.
    var hasAll: Bool { directives.contains { $0.mechanism == .all } }

    /// The directives up to the first that matches every sender; those after it are never evaluated.
    var reached: ArraySlice<SPFDirective> {
        directives.prefix((directives.firstIndex { $0.mechanism == .all } ?? directives.count - 1) + 1)
    }
}
