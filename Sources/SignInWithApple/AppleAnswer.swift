import HTTPCalls

/// Apple's answer to any call, not yet interpreted for that call.
enum AppleAnswer: Sendable, Equatable {
    /// HTTP 200 with a body in the form that the call expects.
    case success([UInt8])
    /// An error object from Apple.
    case refused(AppleRefusal, status: Int)
    /// No verdict for now.
    case delayed(AppleDelay)

    /// Classifies the outcome of a call.
    ///
    /// A success must match `form`; any other body under HTTP 200 is not an answer of Apple's API.
    init(_ outcome: HTTPOutcome, _ form: Form) {
        switch outcome {
        case .unreachable(let reason): self = .delayed(AppleDelay(.unreachable(reason)))
        case .timedOut: self = .delayed(AppleDelay(.timedOut))
        case .interrupted: self = .delayed(AppleDelay(.interrupted))
        case .replyTooLarge(let status, _): self = .delayed(AppleDelay(.notUnderstood(status: status)))
        case .reply(let reply):
            switch reply.status {
            case 200 where form.fits(reply.body): self = .success(reply.body)
            case 429: self = .delayed(AppleDelay(.throttled, retryAfter: reply.retryAfter))
            case 500...599:
                self = .delayed(AppleDelay(.serverError(status: reply.status), retryAfter: reply.retryAfter))
            case 400...499:
                if let refusal = AppleRefusal(body: reply.body) {
                    self = .refused(refusal, status: reply.status)
                } else {
                    self = .delayed(AppleDelay(.notUnderstood(status: reply.status)))
                }
            default: self = .delayed(AppleDelay(.notUnderstood(status: reply.status)))
            }
        }
    }

    /// The expected form of a success.
    ///
    /// A CDN edge or a proxy may answer 200 with a page of its own, which must neither end a credential nor close a
    /// breaker.
    enum Form: Sendable {
        /// A JSON object with a string member under one of these names.
        case object(holding: [String])
        /// An empty body, as Apple documents for `/auth/revoke`, or a JSON object without an error.
        case emptyOrObject

        func fits(_ body: [UInt8]) -> Bool {
            if case .emptyOrObject = self, body.allSatisfy({ [0x09, 0x0A, 0x0D, 0x20].contains($0) }) { return true }
            guard let json = try? StrictJSON(parsing: body), case .object = json, json["error"] == nil else {
                return false
            }
            guard case .object(let names) = self else { return true }
            return names.contains { json[$0]?.text != nil }
        }
    }

    /// What the answer says about the client itself, reported to the circuit breaker.
    var verdictOnClient: VerdictOnClient {
        switch self {
        case .success: .good
        case .refused(let refusal, _):
            switch refusal.code {
            case .invalidClient: .rejected(refusal)
            // Apple checks the client before it checks a code or token, so this refusal shows that the client is good.
            case .invalidGrant: .good
            default: .none
            }
        case .delayed: .none
        }
    }

    enum VerdictOnClient: Equatable {
        case good
        case rejected(AppleRefusal)
        case none
    }
}
