extension SPFRun {
    /// The domain that an include or redirect leads to.
    mutating func target(_ spec: SPFDomainSpec, of policy: borrowing SPFPolicy) throws(SPFStop) -> DomainName {
        guard let target = try name(spec, of: policy) else {
            throw .problem(.unusableTarget(policy.record.text[spec.source]))
        }
        return target
    }

    /// The name that a mechanism refers to, by default the current domain; nil if the expansion is not a valid name,
    /// which then matches nothing.
    mutating func name(_ spec: SPFDomainSpec?, of policy: borrowing SPFPolicy) throws(SPFStop) -> DomainName? {
        guard let spec else { return policy.domain }
        guard spec.hasMacros else { return policy.record.name(spec) }
        let text = policy.record.text[spec.source]
        if SPFMacro.asksForValidatedName(text.span) { try prepareValidatedName(of: policy) }
        var expanded = SPFMacro.expand(text.span, values(policy))[...]
        if expanded.last == UInt8(ascii: ".") { expanded.removeLast() }
        // Labels are dropped from the left until the name fits (RFC 7208, 7.3).
        while expanded.count > 253, let dot = expanded.firstIndex(of: UInt8(ascii: ".")) {
            expanded = expanded[(dot + 1)...]
        }
        return try? DomainName(dotted: expanded)
    }

    private mutating func prepareValidatedName(of policy: borrowing SPFPolicy) throws(SPFStop) {
        // Prefers the domain itself, then a name within it, then any name (RFC 7208, 7.3).
        let domain = policy.domain
        let names = try reverseNames()
        let own = names.filter { $0 == domain }
        let within = names.filter { $0 != domain && $0.isWithin(domain) }
        let others = names.filter { !$0.isWithin(domain) }
        pass.validatedName = nil
        for name in own + within + others where try leadsBack(name) {
            pass.validatedName = name
            return
        }
    }

    /// The explanation that `exp=` refers to; nil on any error, since it must not change the result (RFC 7208, 6.2).
    mutating func explanation(of verdict: borrowing SPFVerdict) throws(SPFStop) -> String? {
        guard verdict.result == .fail, let spec = verdict.policy.record.explanation else { return nil }
        do {
            guard let name = try name(spec, of: verdict.policy),
                case .records(let answer) = try outcome(of: Question(name, .txt)),
                answer.records.count == 1, case .text(let strings)? = answer.records.first
            else { return nil }
            let text = strings.joinedBytes[...]
            guard text.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), SPFMacro.isWellFormed(text.span, letters: .all) else {
                return nil
            }
            if SPFMacro.asksForValidatedName(text.span) { try prepareValidatedName(of: verdict.policy) }
            return PrintableBytes.escaped(SPFMacro.expand(text.span, values(verdict.policy)))
        } catch {
            if case .missing = error { throw error }
            return nil
        }
    }
}
