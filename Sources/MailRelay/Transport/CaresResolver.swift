import EventThread

/// Queries real name servers, with c-ares as transport and its own interpretation of the replies.
///
/// One thread runs the channel and all its sockets; lookups come from any task. If one of several servers fails or
/// refuses, a second channel with a thread of its own asks the others before the outcome counts. Truncated replies are
/// repeated over TCP. After a server failure, the query is repeated without DNSSEC validation and, if that gets an
/// answer, once more with validation. This tells wrong signatures from a broken server and from a failure that has
/// passed.
package struct CaresResolver: Resolver {
    private let exchange: CaresExchange
    /// The exchange that asks the next server after a failure; nil if there is only one server.
    private let others: CaresExchange?

    /// Runs `body` with a resolver that lives as long as the body.
    ///
    /// Throws ``CaresError`` or ``EventThreadError`` if the transport cannot be set up, and rethrows errors of the
    /// body.
    package static func withResolver<Result>(
        _ configuration: ResolverConfiguration,
        _ body: (CaresResolver) async throws -> Result
    ) async throws -> Result {
        let exchange = CaresExchange(configuration, on: try EventThread(name: "dns"))
        let servers = try await exchange.open()
        var others: CaresExchange?
        do {
            if servers > 1 {
                let thread = try EventThread(name: "dns-others")
                let next = CaresExchange(configuration, passingFailuresOver: true, on: thread)
                _ = try await next.open()
                others = next
            }
            let result = try await body(CaresResolver(exchange: exchange, others: others))
            await exchange.close()
            await others?.close()
            return result
        } catch {
            await exchange.close()
            await others?.close()
            throw error
        }
    }

    /// Queries the configured servers.
    ///
    /// Cancellation is checked between exchanges; an exchange in progress ends with the time-out of its last try at the
    /// latest.
    package func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        var name = question.name
        var chain: [DomainName] = []
        var ttl = UInt32.max
        // A server with only one zone returns an alias without its target: look the target up next.
        for _ in 0...ReplyInterpreter.maximumAliases {
            let asked = Question(name, question.type)
            switch await reading(DNSQuery(asked), by: deadline) {
            case .settled(let outcome):
                return outcome.reached(through: chain, ttl: ttl)
            case .continues(let next, let nextTTL):
                let met = [question.name] + chain
                if let loop = next.first(where: { met.contains($0) }) { return .badReply(.aliasLoop(met + [loop])) }
                chain += next
                ttl = min(ttl, nextTTL)
                name = next.last ?? name
            }
        }
        return .badReply(.aliasChainTooLong)
    }

    private func reading(_ query: DNSQuery, by deadline: ContinuousClock.Instant) async -> ReplyInterpreter.Reading {
        let reading = await sendAndRead(query, by: deadline)
        guard case .settled(.serverFailure(let failure)) = reading, !failure.dnssecBogus else { return reading }
        let unchecked = await sendAndRead(DNSQuery(query.question, checkingDisabled: true), by: deadline)
        switch unchecked {
        case .settled(.records), .settled(.noData), .settled(.nxDomain), .continues: break
        case .settled: return reading
        }
        let again = await sendAndRead(query, by: deadline)
        switch again {
        case .settled(.records), .settled(.noData), .settled(.nxDomain), .continues: return again
        case .settled(.serverFailure):
            return .settled(.serverFailure(LookupOutcome.ServerFailure(dnssecBogus: true, errors: failure.errors)))
        case .settled: return reading
        }
    }

    private func sendAndRead(_ query: DNSQuery, by deadline: ContinuousClock.Instant) async -> ReplyInterpreter.Reading
    {
        let reading = await sendAndRead(query, exchange, by: deadline)
        guard let others, case .settled(let outcome) = reading, outcome.isOneServersFailure else { return reading }
        let next = await sendAndRead(query, others, by: deadline)
        if case .settled(let outcome) = next, outcome.isTemporary { return reading }
        return next
    }

    private func sendAndRead(
        _ query: DNSQuery,
        _ exchange: CaresExchange,
        by deadline: ContinuousClock.Instant
    ) async -> ReplyInterpreter.Reading {
        guard !Task.isCancelled, deadline > .now else { return .settled(.timeout) }
        switch await exchange.send(query, by: deadline) {
        case .reply(let bytes):
            let reading = ReplyInterpreter.read(bytes, to: query.question)
            // c-ares retries without EDNS by itself, but only the first time that it meets such a server.
            guard query.hasEDNS, reading == .settled(.badReply(.responseCode(1))) else { return reading }
            let plain = DNSQuery(query.question, checkingDisabled: query.checkingDisabled, hasEDNS: false)
            return await sendAndRead(plain, exchange, by: deadline)
        case .noReply: return .settled(.timeout)
        case .unreachable: return .settled(.unreachable)
        }
    }
}

extension LookupOutcome {
    /// This outcome at the end of a longer chain of aliases.
    fileprivate func reached(through aliases: [DomainName], ttl: UInt32) -> LookupOutcome {
        guard !aliases.isEmpty else { return self }
        return switch self {
        case .records(let answer):
            .records(
                Answer(
                    records: answer.records,
                    ttl: min(ttl, answer.ttl),
                    chain: aliases + answer.chain,
                    authenticated: answer.authenticated
                )
            )
        case .noData(let absence): .noData(Absence(ttl: absence.ttl, chain: aliases + absence.chain))
        case .nxDomain(let absence): .nxDomain(Absence(ttl: absence.ttl, chain: aliases + absence.chain))
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: self
        }
    }
}

extension LookupOutcome {
    /// Whether only this server is at fault, so that another may answer: it failed, refused, or does not implement the
    /// query.
    fileprivate var isOneServersFailure: Bool {
        switch self {
        case .serverFailure(let failure): !failure.dnssecBogus
        case .refused, .badReply(.responseCode(4)): true
        case .records, .noData, .nxDomain, .timeout, .unreachable, .badReply: false
        }
    }
}
