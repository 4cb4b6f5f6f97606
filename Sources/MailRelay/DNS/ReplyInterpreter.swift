/// Interprets the bytes of a reply as an outcome.
enum ReplyInterpreter {
    /// The most aliases that are followed before a chain counts as too long.
    static let maximumAliases = 16

    /// What a reply means for the question that was sent.
    enum Reading: Equatable, Sendable {
        /// The reply settles the question.
        case settled(LookupOutcome)
        /// The reply ends at an alias without data for its target: query the last name of the chain.
        case continues(chain: [DomainName], ttl: UInt32)
    }

    /// Reads a reply to `question`.
    static func read(_ bytes: [UInt8], to question: Question) -> Reading {
        let message: DNSMessage
        do {
            message = try DNSMessage(bytes)
        } catch {
            return .settled(.badReply(.malformed(error)))
        }
        guard message.isReply else { return .settled(.badReply(.notAReply)) }
        guard message.responseCode != 1 || !message.questions.isEmpty else {
            // A server that does not understand a query may omit the question (FORMERR).
            return .settled(.badReply(.responseCode(1)))
        }
        guard message.questions.count == 1, message.questions[0] == (question, 1) else {
            return .settled(.badReply(.anotherQuestion))
        }
        guard !message.isTruncated else { return .settled(.badReply(.truncated)) }
        switch message.responseCode {
        case 0, 3: return contents(of: message, question)
        case 2: return .settled(.serverFailure(failure(in: message)))
        case 5: return .settled(.refused)
        default: return .settled(.badReply(.responseCode(message.responseCode)))
        }
    }

    private static func failure(in message: DNSMessage) -> LookupOutcome.ServerFailure {
        let errors = message.edns?.errors ?? []
        // RFC 8914: 6 is "DNSSEC Bogus"; 7 to 10 are expired or not yet valid signatures and missing keys.
        return LookupOutcome.ServerFailure(dnssecBogus: errors.contains { (6...10).contains($0.code) }, errors: errors)
    }

    private static func contents(of message: DNSMessage, _ question: Question) -> Reading {
        var name = question.name
        var chain: [DomainName] = []
        var ttl = UInt32.max
        while true {
            let own = message.answers.filter { $0.name == name && $0.recordClass == 1 }
            let wanted = own.filter { $0.type == question.type }
            if !wanted.isEmpty {
                return .settled(
                    .records(
                        LookupOutcome.Answer(
                            records: wanted.map(\.data),
                            ttl: wanted.reduce(ttl) { min($0, $1.ttl) },
                            chain: chain,
                            authenticated: message.isAuthenticated
                        )
                    )
                )
            }
            guard let alias = own.first(where: { $0.type == .cname }), case .cname(let target) = alias.data else {
                break
            }
            guard target != question.name, !chain.contains(target) else {
                return .settled(.badReply(.aliasLoop([question.name] + chain + [target])))
            }
            guard chain.count < maximumAliases else { return .settled(.badReply(.aliasChainTooLong)) }
            chain.append(target)
            ttl = min(ttl, alias.ttl)
            name = target
        }
        return .settledOrContinuing(message, chain: chain, ttl: ttl)
    }
}

extension ReplyInterpreter.Reading {
    fileprivate static func settledOrContinuing(_ message: DNSMessage, chain: [DomainName], ttl: UInt32) -> Self {
        var negativeTTL: UInt32?
        for record in message.authorities {
            if case .soa(let minimum) = record.data { negativeTTL = min(minimum, record.ttl) }
        }
        let absence = LookupOutcome.Absence(ttl: negativeTTL, chain: chain)
        if message.responseCode == 3 { return .settled(.nxDomain(absence)) }
        guard negativeTTL == nil else { return .settled(.noData(absence)) }
        // Without a SOA, the reply is a terse "no data", an alias into a zone this server does not have, or a referral.
        guard chain.isEmpty else { return .continues(chain: chain, ttl: ttl) }
        let refers = message.authorities.contains { $0.type == .ns }
        return .settled(refers && !message.recursionAvailable ? .badReply(.referral) : .noData(absence))
    }
}
