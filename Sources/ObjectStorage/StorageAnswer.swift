import HTTPCalls

/// The service's answer to any call, not yet interpreted for that call.
enum StorageAnswer: Sendable, Equatable {
    /// HTTP 2xx with its body.
    case success([UInt8])
    /// HTTP 2xx with a body that exceeded the limit.
    case longSuccess
    /// The server is too old for the call.
    case unknownRoute(StorageRefusal)
    case gone(StorageRefusal)
    case misconfigured(StorageRefusal)
    case delayed(StorageDelay)

    init(_ outcome: HTTPOutcome) {
        switch outcome {
        case .unreachable(let reason): self = .delayed(StorageDelay(.unreachable(reason)))
        case .timedOut: self = .delayed(StorageDelay(.timedOut))
        case .interrupted: self = .delayed(StorageDelay(.interrupted))
        case .replyTooLarge(let status, _):
            self = (200...299).contains(status) ? .longSuccess : .delayed(StorageDelay(.notUnderstood(status: status)))
        case .reply(let reply): self.init(reply)
        }
    }

    private init(_ reply: HTTPReply) {
        if (200...299).contains(reply.status) {
            self = .success(reply.body)
            return
        }
        guard let refusal = StorageRefusal(body: reply.body) else {
            // The answer comes from something in front of the service; from there, only a rejected key is conclusive.
            self =
                reply.status == 401 || reply.status == 403
                ? .misconfigured(StorageRefusal(code: nil, status: reply.status))
                : .delayed(StorageDelay(.notUnderstood(status: reply.status), retryAfter: reply.retryAfter))
            return
        }
        switch refusal.meaning {
        case .gone: self = .gone(refusal)
        case .configuration: self = .misconfigured(refusal)
        case .notNow: self = .delayed(StorageDelay(.refused(refusal), retryAfter: reply.retryAfter))
        case .unknownRoute: self = .unknownRoute(refusal)
        }
    }

    /// The outcome of a call whose body is parsed by `read`.
    func outcome<Value: Sendable>(_ read: ([UInt8]) -> Value?) -> StorageOutcome<Value> {
        switch self {
        case .success(let body): read(body).map { .done($0) } ?? .later(StorageDelay(.notUnderstood(status: 200)))
        case .longSuccess: .later(StorageDelay(.notUnderstood(status: 200)))
        case .unknownRoute(let refusal), .misconfigured(let refusal): .misconfigured(refusal)
        case .gone(let refusal): .gone(refusal)
        case .delayed(let delay): .later(delay)
        }
    }
}
