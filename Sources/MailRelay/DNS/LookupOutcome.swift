/// The outcome of a DNS lookup.
///
/// The cases are separate because they mean different things to an operator: "there is no record" is a defect, while
/// "no server answered" is unknown and must not page anyone at night.
package enum LookupOutcome: Hashable, Sendable {
    /// Records of the requested type exist.
    case records(Answer)
    /// The name exists, but has no records of the requested type.
    case noData(Absence)
    /// The name does not exist.
    case nxDomain(Absence)
    /// The server reports that it failed.
    case serverFailure(ServerFailure)
    /// No server answered in time, or the answer was truncated and its TCP retry timed out; the transport does not
    /// distinguish the two.
    case timeout
    /// The server refused to answer the question.
    case refused
    /// No name server could be reached because nothing listens there or there is no route, or the answer was truncated
    /// and nothing listens on TCP; the transport does not distinguish these cases.
    case unreachable
    /// The reply does not answer the question.
    case badReply(BadReply)

    /// Records and the aliases that led to them.
    package struct Answer: Hashable, Sendable {
        /// The data of the records, in the order of the reply.
        package let records: [RecordData]
        /// The shortest TTL of any part of the answer, in seconds.
        let ttl: UInt32
        /// The alias targets in order, the last of which owns the records; empty without an alias.
        let chain: [DomainName]
        /// Whether the resolver vouches for the data (AD flag), which counts only if the resolver is trusted.
        let authenticated: Bool

        /// An answer.
        package init(records: [RecordData], ttl: UInt32, chain: [DomainName] = [], authenticated: Bool = false) {
            self.records = records
            self.ttl = ttl
            self.chain = chain
            self.authenticated = authenticated
        }
    }

    /// The absence of records, and the aliases that led to it.
    package struct Absence: Hashable, Sendable {
        /// How long the absence may be cached, in seconds; nil if the reply does not say.
        let ttl: UInt32?
        /// The aliases followed; the last target is the missing name.
        let chain: [DomainName]

        /// An absence.
        package init(ttl: UInt32? = nil, chain: [DomainName] = []) {
            self.ttl = ttl
            self.chain = chain
        }
    }

    /// Why a server failed, as far as it reports.
    package struct ServerFailure: Hashable, Sendable {
        /// Whether the data exists and only its DNSSEC signatures are wrong.
        let dnssecBogus: Bool
        /// The extended errors that the server added (RFC 8914).
        let errors: [DNSMessage.ExtendedError]

        /// A failure.
        init(dnssecBogus: Bool = false, errors: [DNSMessage.ExtendedError] = []) {
            self.dnssecBogus = dnssecBogus
            self.errors = errors
        }
    }

    /// Why a reply was rejected.
    package enum BadReply: Hashable, Sendable {
        /// The reply is not a DNS message.
        case malformed(DNSMessageError)
        /// The reply answers another question.
        case anotherQuestion
        /// The message is a query.
        case notAReply
        /// The reply is truncated even over TCP.
        case truncated
        /// The aliases form a loop.
        case aliasLoop([DomainName])
        /// The reply has more aliases than the limit.
        case aliasChainTooLong
        /// The reply refers to other servers, so the server does not recurse.
        case referral
        /// The response code is none of those handled above.
        case responseCode(UInt16)
    }
}

extension LookupOutcome {
    /// Whether a later retry may give another outcome, so that nothing is known now.
    var isTemporary: Bool {
        switch self {
        case .records, .noData, .nxDomain: false
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: true
        }
    }

    /// Whether no record of this type exists: a "void" lookup in the terms of RFC 7208.
    package var isAbsence: Bool {
        switch self {
        case .noData, .nxDomain: true
        case .records, .serverFailure, .timeout, .refused, .unreachable, .badReply: false
        }
    }

    /// The aliases followed, whatever the last one led to.
    package var chain: [DomainName] {
        switch self {
        case .records(let answer): answer.chain
        case .noData(let absence), .nxDomain(let absence): absence.chain
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: []
        }
    }
}

extension LookupOutcome: CustomStringConvertible {
    /// The outcome in words that can follow "DNS:".
    package var description: String {
        switch self {
        case .records(let answer): "\(answer.records.count) records"
        case .noData: "the name exists but has no such record"
        case .nxDomain: "the name does not exist"
        case .serverFailure(let failure): failure.description
        case .timeout: "no answer in time, or none over TCP, by which large answers come"
        case .refused: "the server refused"
        case .unreachable: "no name server could be reached, or none over TCP, by which large answers come"
        case .badReply(let reply): reply.description
        }
    }
}

extension LookupOutcome.ServerFailure: CustomStringConvertible {
    /// The failure, with the server's reasons.
    package var description: String {
        let reasons = errors.map { $0.text.isEmpty ? "extended error \($0.code)" : $0.text }
        let head = dnssecBogus ? "the DNSSEC signatures are wrong (SERVFAIL)" : "the server failed (SERVFAIL)"
        return reasons.isEmpty ? head : "\(head): \(reasons.joined(separator: "; "))"
    }
}

extension LookupOutcome.BadReply: CustomStringConvertible {
    /// Why the reply was rejected.
    package var description: String {
        switch self {
        case .malformed(let error): "the reply is malformed: \(error)"
        case .anotherQuestion: "the reply answers another question"
        case .notAReply: "the message is not a reply"
        case .truncated: "the reply is truncated even over TCP"
        case .aliasLoop(let names):
            "the aliases form a loop: \(names.map(\.description).joined(separator: " -> "))"
        case .aliasChainTooLong: "the chain of aliases is too long"
        case .referral: "the server does not recurse, it only refers to others"
        case .responseCode(let code): "the server answered with response code \(code)"
        }
    }
}

extension LookupOutcome {
    /// How long the outcome may be cached, in seconds; nil if the reply does not say.
    package var ttl: Int? {
        switch self {
        case .records(let answer): Int(answer.ttl)
        case .noData(let absence), .nxDomain(let absence): absence.ttl.map { Int($0) }
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: nil
        }
    }

    /// The records in zone-file form; empty without records.
    package var shownRecords: [String] {
        guard case .records(let answer) = self else { return [] }
        return answer.records.map(\.description)
    }
}
