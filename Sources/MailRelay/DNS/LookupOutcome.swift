/// What became of a question to DNS.
///
/// The cases are kept apart because they mean different things to an operator: "there is no record" is broken, "nobody
/// answered" is unknown, and a tool that mixes them pages people at night.
package enum LookupOutcome: Hashable, Sendable {
    /// There are records of the type asked for.
    case records(Answer)
    /// The name exists, without records of this type.
    case noData(Absence)
    /// The name does not exist.
    case nxDomain(Absence)
    /// The server says that it failed.
    case serverFailure(ServerFailure)
    /// Nobody answered in time; or the answer was cut and TCP leads nowhere, which the transport does not tell apart.
    case timeout
    /// The server refuses to answer this question.
    case refused
    /// No name server could be reached: nothing listens there, or there is no way to it; or the answer was cut and
    /// nothing listens for TCP, which the transport does not tell apart.
    case unreachable
    /// Something came back that is no answer to this question.
    case badReply(BadReply)

    /// Records and how they were reached.
    package struct Answer: Hashable, Sendable {
        /// The data of the records, in the order of the reply.
        package let records: [RecordData]
        /// The shortest time, in seconds, any part of the answer may be kept.
        let ttl: UInt32
        /// The aliases followed: each target in turn, the last one owning the records; empty without an alias.
        let chain: [DomainName]
        /// Whether the server vouches for the data (the AD flag of a resolver that one trusts).
        let authenticated: Bool

        /// An answer.
        package init(records: [RecordData], ttl: UInt32, chain: [DomainName] = [], authenticated: Bool = false) {
            self.records = records
            self.ttl = ttl
            self.chain = chain
            self.authenticated = authenticated
        }
    }

    /// That there is nothing, and how it was learned.
    package struct Absence: Hashable, Sendable {
        /// How many seconds that may be relied on; nil when the reply does not say.
        let ttl: UInt32?
        /// The aliases followed; the last target is what is missing.
        let chain: [DomainName]

        /// An absence.
        package init(ttl: UInt32? = nil, chain: [DomainName] = []) {
            self.ttl = ttl
            self.chain = chain
        }
    }

    /// Why a server failed, as far as it tells.
    package struct ServerFailure: Hashable, Sendable {
        /// Whether the data is there and only its signatures are wrong.
        let dnssecBogus: Bool
        /// What the server adds by RFC 8914.
        let errors: [DNSMessage.ExtendedError]

        /// A failure.
        init(dnssecBogus: Bool = false, errors: [DNSMessage.ExtendedError] = []) {
            self.dnssecBogus = dnssecBogus
            self.errors = errors
        }
    }

    /// What was wrong with a reply.
    package enum BadReply: Hashable, Sendable {
        /// It is not a DNS message.
        case malformed(DNSMessageError)
        /// It answers another question.
        case anotherQuestion
        /// It is a query.
        case notAReply
        /// It is still cut after asking over TCP.
        case truncated
        /// Its aliases lead back to one of them.
        case aliasLoop([DomainName])
        /// It has more aliases than anyone follows.
        case aliasChainTooLong
        /// It sends us to other servers: the server asked does not recurse.
        case referral
        /// Its response code is none of the above.
        case responseCode(UInt16)
    }
}

extension LookupOutcome {
    /// Whether asking again later may give another outcome, so that nothing is known now.
    var isTemporary: Bool {
        switch self {
        case .records, .noData, .nxDomain: false
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: true
        }
    }

    /// Whether there is nothing of this type: a "void" lookup in the words of RFC 7208.
    package var isAbsence: Bool {
        switch self {
        case .noData, .nxDomain: true
        case .records, .serverFailure, .timeout, .refused, .unreachable, .badReply: false
        }
    }

    /// The aliases followed, whatever was at their end.
    package var chain: [DomainName] {
        switch self {
        case .records(let answer): answer.chain
        case .noData(let absence), .nxDomain(let absence): absence.chain
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: []
        }
    }
}

extension LookupOutcome: CustomStringConvertible {
    /// The outcome in words that fit behind "DNS:".
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
    /// What was wrong with the reply.
    package var description: String {
        switch self {
        case .malformed(let error): "the reply is malformed: \(error)"
        case .anotherQuestion: "the reply answers another question"
        case .notAReply: "the reply is no reply"
        case .truncated: "the reply is cut even over TCP"
        case .aliasLoop(let names):
            "the aliases run in a circle: \(names.map(\.description).joined(separator: " -> "))"
        case .aliasChainTooLong: "the chain of aliases is too long"
        case .referral: "the server does not recurse, it only refers to others"
        case .responseCode(let code): "the server answered with response code \(code)"
        }
    }
}

extension LookupOutcome {
    /// How many seconds the outcome may be kept; nil where the reply does not say.
    package var ttl: Int? {
        switch self {
        case .records(let answer): Int(answer.ttl)
        case .noData(let absence), .nxDomain(let absence): absence.ttl.map { Int($0) }
        case .serverFailure, .timeout, .refused, .unreachable, .badReply: nil
        }
    }

    /// The records as zone files write them; empty without records.
    package var shownRecords: [String] {
        guard case .records(let answer) = self else { return [] }
        return answer.records.map(\.description)
    }
}
