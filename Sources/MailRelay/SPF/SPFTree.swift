/// A policy with all it includes, as a reader sees it who stops at nothing: for limits, remarks and ranges.
struct SPFTree: Sendable {
    /// The policy of the domain that was asked about.
    let root: Node
    /// Whether reading stopped before the end of the tree.
    let isCut: Bool

    /// One domain's policy.
    struct Node: Sendable {
        /// Whose policy.
        let domain: DomainName
        /// What was found.
        let content: Content
        /// What includes and redirects lead to, in the order of the record.
        let children: [Node]
        /// The term that leads here; empty at the root.
        let term: String
        /// Whether who passes here may send, which an include with another qualifier than “+” on the way prevents.
        let isSending: Bool
        /// Lookups of this record's own terms that found nothing, for IPv4 senders and for IPv6 senders.
        let voids: (v4: [Question], v6: [Question])
        /// The ranges that its `ip4`, `ip6`, `a` and `mx` let send.
        let networks: [IPNetwork]
        /// Terms whose meaning depends on the sender.
        let openTerms: [String]
        /// Lookups of this record's own terms that DNS did not answer.
        let unanswered: [Unanswered]
        /// The strings of the record, with their boundaries.
        let strings: [[UInt8]]
        /// All TXT records of the name, joined.
        let texts: [[UInt8]]
    }

    /// A question that DNS did not answer.
    struct Unanswered: Sendable {
        /// What was asked.
        let question: Question
        /// What came instead of an answer.
        let outcome: LookupOutcome
    }

    /// What stands at a domain.
    enum Content: Sendable {
        /// A policy that can be evaluated.
        case policy(SPFRecord)
        /// A policy with a mistake.
        case malformed(SPFSyntaxError)
        /// Several policies.
        case several(Int)
        /// No policy; the outcome tells whether the name exists.
        case none(LookupOutcome)
        /// DNS did not answer.
        case unknown(LookupOutcome)
        /// A domain that is being read already further up.
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

    /// What DNS did not answer below the root: the networks of the tree are not all there are.
    var gaps: [Unanswered] {
        nodes.flatMap { node in
            guard case .unknown(let outcome) = node.content else { return node.unanswered }
            return [Unanswered(question: Question(node.domain, .txt), outcome: outcome)]
        }
    }

    /// Whether the whole tree was read and no sender passes it.
    var letsNobodySend: Bool {
        gaps.isEmpty && !isCut && nodes.allSatisfy { $0.networks.isEmpty && $0.openTerms.isEmpty && !$0.letsAnyoneSend }
    }

    /// How many terms that cause lookups the whole tree holds: what a sender costs that nothing matches.
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

extension SPFTree.Node {
    /// Whether the policy ends by letting everyone send.
    var letsAnyoneSend: Bool {
        guard case .policy(let record) = content, isSending else { return false }
        return record.reached.last.map { $0.mechanism == .all && $0.result == .pass } ?? false
    }
}

extension SPFRecord {
    /// Whether a directive matches everyone.
    var hasAll: Bool { directives.contains { $0.mechanism == .all } }

    /// The directives up to the first that matches everyone: none behind it is ever looked at.
    var reached: ArraySlice<SPFDirective> {
        directives.prefix((directives.firstIndex { $0.mechanism == .all } ?? directives.count - 1) + 1)
    }
}
