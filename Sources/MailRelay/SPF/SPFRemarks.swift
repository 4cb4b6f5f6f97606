/// Findings about a policy that do not depend on the sender.
enum SPFRemarks {
    /// The findings on a policy that can be evaluated.
    static func on(_ record: SPFRecord, _ tree: SPFTree) -> [Finding] {
        let domain = tree.root.domain
        let seen = [RecordData.quoted(tree.root.strings)]
        var findings: [Finding] = []
        if let term = tree.root.everyone {
            findings.append(Finding(.spfAnyone, at: domain, "“\(term)” lets everyone send", seen: seen))
        }
        let all = record.directives.firstIndex { $0.mechanism == .all }
        if let all {
            if record.directives[all].result == .neutral {
                findings.append(Finding(.spfNeutralAll, at: domain, "“?all” says nothing about strangers", seen: seen))
            }
            let behind = record.directives[(all + 1)...].map { record.shown($0) }
            if !behind.isEmpty {
                findings.append(
                    Finding(.spfAfterAll, at: domain, "never reached: \(behind.joined(separator: " "))", seen: seen)
                )
            }
            if record.redirect != nil {
                findings.append(
                    Finding(.spfRedirectIgnored, at: domain, "“redirect” does not count beside “all”", seen: seen)
                )
            }
        } else if record.redirect == nil {
            findings.append(Finding(.spfNoAll, at: domain, "the policy ends without “all”", seen: seen))
        }
        if record.directives.contains(where: { if case .ptr = $0.mechanism { true } else { false } }) {
            findings.append(Finding(.spfPtr, at: domain, "the policy uses “ptr”", seen: seen))
        }
        for name in record.unknownModifiers {
            findings.append(Finding(.spfUnknownModifier, at: domain, "unknown modifier “\(name)”", seen: seen))
        }
        // RFC 7208 (3.4) advises keeping the answer below some 450 bytes, so that it fits into UDP.
        let size = tree.root.texts.reduce(0) { $0 + $1.count + $1.count / 255 + 13 }
        if size > 450 {
            findings.append(
                Finding(
                    .spfLarge,
                    at: domain,
                    "the TXT records of the name take about \(size) bytes, 450 fit everywhere"
                )
            )
        }
        for node in tree.nodes.dropFirst() {
            if let finding = inherited(node, from: domain) { findings.append(finding) }
        }
        return findings
    }

    /// The finding for an included policy that is broken or permits everyone, before any sender reaches it.
    private static func inherited(_ node: SPFTree.Node, from domain: DomainName) -> Finding? {
        switch node.content {
        case .policy:
            guard node.everyone != nil else { return nil }
            return Finding(
                .spfAnyone,
                at: node.domain,
                "the policy that it leads to lets everyone send",
                seen: [node.term]
            )
        case .malformed(let error):
            return Finding(
                .spfSyntax,
                .advice,
                at: node.domain,
                "an included policy is malformed: \(error)",
                seen: [node.term]
            )
        case .several(let count):
            return Finding(
                .spfSeveral,
                .advice,
                at: node.domain,
                "an included name publishes \(count) policies",
                seen: [node.term]
            )
        case .none(let outcome):
            return Finding(
                .spfTargetWithoutPolicy,
                .advice,
                at: node.domain,
                "an included name has no policy: \(reason(outcome))",
                seen: [node.term]
            )
        case .unknown(let outcome):
            return Finding(
                .spfUnknown,
                .advice,
                at: node.domain,
                "an included policy could not be read: \(outcome)",
                seen: [node.term]
            )
        case .loop:
            return Finding(.spfTooManyTerms, .advice, at: node.domain, "the policy includes itself", seen: [node.term])
        }
    }

    /// The finding for a syntax error in the policy itself, with a hint at a typical cause.
    static func syntax(_ error: SPFSyntaxError, _ node: SPFTree.Node) -> Finding {
        var summary = "the policy is malformed: \(error)"
        if let hint = hint(error, node.strings) { summary += "; \(hint)" }
        return Finding(.spfSyntax, at: node.domain, summary, seen: [RecordData.quoted(node.strings)])
    }

    private static func hint(_ error: SPFSyntaxError, _ strings: [[UInt8]]) -> String? {
        let term = Array(error.term)
        let text = String(decoding: term, as: UTF8.self)
        if term.contains(9) { return "there is a tab between terms, where only spaces are allowed" }
        if contains(term, [0xC2, 0xA0]) {
            return "there is a no-break space between terms, where only spaces are allowed"
        }
        if contains(term, [0xE2, 0x80, 0x93]) || contains(term, [0xE2, 0x80, 0x94]) {
            return "there is a dash where a hyphen belongs"
        }
        if term.contains(UInt8(ascii: "\"")) { return "quotation marks are part of the text" }
        if term.contains(UInt8(ascii: ",")) { return "terms are divided by spaces, not by commas" }
        // A boundary between two strings inside the term: the space between them was lost.
        var boundary = 0
        let whole = strings.joinedBytes
        for string in strings.dropLast() {
            boundary += string.count
            let start = whole[..<boundary].lastIndex(of: 0x20).map { $0 + 1 } ?? 0
            let end = whole[boundary...].firstIndex(of: 0x20) ?? whole.count
            if start < boundary, boundary < end, Array(whole[start..<end]) == term {
                return "it spans two strings of the record, which are joined without a space"
            }
        }
        for suffix in ["-all", "~all", "?all", "+all"] where text.hasSuffix(suffix) && text.count > suffix.count {
            return "a space is missing before “\(suffix)”"
        }
        let name = text.prefix { $0 != ":" && $0 != "/" && $0 != "=" }.drop { "+-~?".contains($0) }.lowercased()
        let near: [String: String] = [
            "ipv4": "ip4", "ipv6": "ip6", "ip": "ip4", "inlcude": "include", "incude": "include", "includ": "include",
            "includes": "include", "redirect": "redirect=", "include=": "include:", "exist": "exists", "al": "all",
        ]
        return near[name].map { "“\($0)” may have been meant" }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        bytes.firstRange(of: part) != nil
    }

    /// The finding for a missing policy, with any text that looks like an attempt at one.
    static func missing(
        _ node: SPFTree.Node,
        _ outcome: LookupOutcome,
        alias: DomainName?,
        suggestion: Finding.Publication?
    ) -> [Finding] {
        var findings: [Finding] = []
        if case .nxDomain = outcome {
            findings.append(Finding(.nameMissing, at: node.domain, "the domain does not exist"))
        }
        findings.append(
            Finding(
                .spfMissing,
                at: node.domain,
                "the envelope domain has no SPF policy: \(reason(outcome))" + place(alias),
                publish: suggestion
            )
        )
        for text in node.texts {
            guard let reason = lookalike(text) else { continue }
            findings.append(
                Finding(
                    .spfLookalike,
                    at: node.domain,
                    "a text looks like a policy but is not one: \(reason)",
                    seen: [PrintableBytes.escaped(text)]
                )
            )
        }
        return findings
    }

    /// Why a name has no policy, given the outcome of the question for its TXT records.
    static func reason(_ outcome: LookupOutcome) -> String {
        if case .records = outcome { "none of its TXT records is one" } else { outcome.description }
    }

    /// Where the policy of an aliased name is, or has to be, published.
    static func place(_ alias: DomainName?) -> String {
        alias.map { "; its policy is that of \($0), by an alias" } ?? ""
    }

    private static func lookalike(_ text: [UInt8]) -> String? {
        let small = text.prefix(24).map(\.lowercasedASCII)
        guard contains(small, Array("spf1".utf8)) || contains(small, Array("spf2".utf8)) else { return nil }
        guard let first = text.first else { return nil }
        if first.isWhiteSpace { return "it begins with white space" }
        if first == UInt8(ascii: "\"") { return "quotation marks are part of the text" }
        if first > 0x7E { return "it begins with a character that is not ASCII" }
        if small.starts(with: "v=spf1".utf8) { return "no space follows “v=spf1”" }
        return "a policy begins with “v=spf1” and a space"
    }

    /// The finding for an evaluation's problem; nil for problems that are reported elsewhere.
    static func finding(_ problem: SPFProblem, at domain: DomainName, seen: [String]) -> Finding? {
        let code: FindingCode
        switch problem {
        case .tooManyTerms: code = .spfTooManyTerms
        case .tooManyVoids: code = .spfTooManyVoids
        case .tooManyExchangers: code = .spfTooManyExchangers
        case .targetWithoutPolicy, .unusableTarget: code = .spfTargetWithoutPolicy
        case .syntax: code = .spfSyntax
        case .severalPolicies: code = .spfSeveral
        case .noPolicy, .unusableDomain: code = .spfMissing
        case .lookup: return nil
        }
        var summary = problem.description
        if case .targetWithoutPolicy(let name) = problem, name.description.hasSuffix("-all") {
            summary += "; a space is missing before “-all”"
        }
        return Finding(code, at: domain, summary, seen: seen)
    }
}
