import HTTPCalls

/// Apple's answer to any call, before it means something for the call.
enum AppleAnswer: Sendable, Equatable {
    /// HTTP 200 with its body.
    case success([UInt8])
    /// An error object.
    case refused(AppleRefusal, status: Int)
    /// No verdict.
    case delayed(AppleDelay)

    init(_ outcome: HTTPOutcome) {
        switch outcome {
        case .unreachable(let reason): self = .delayed(AppleDelay(.unreachable(reason)))
        case .timedOut: self = .delayed(AppleDelay(.timedOut))
        case .interrupted: self = .delayed(AppleDelay(.interrupted))
        case .replyTooLarge(let status, _): self = .delayed(AppleDelay(.notUnderstood(status: status)))
        case .reply(let reply):
            switch reply.status {
            case 200: self = .success(reply.body)
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

    /// What the answer says about the client itself, for the breaker.
    var verdictOnClient: VerdictOnClient {
        switch self {
        case .success: .good
        case .refused(let refusal, _):
            switch refusal.code {
            case .invalidClient: .rejected(refusal)
            // Apple looks at the client before it looks at a code or token.
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
