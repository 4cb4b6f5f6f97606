import Hummingbird
import Synchronization

/// The HTTP endpoints of the simulated Apple.
struct AppleEndpoints: Sendable {
    let apple: AppleSandbox
    let clock: SandboxClock
    /// Called after the reply to a request that ended a consent: Apple notifies the app even if the app itself made the
    /// request.
    let consentEnded: @Sendable (AppleState.Ended) -> Void

    /// Answers a request to Apple's API; with `carryOut` false, the answer is the same but nothing is changed.
    func answer(_ route: AppleRoute, _ request: ReceivedRequest, carryOut: Bool) throws -> Reply {
        switch route {
        case .keys: try keys()
        case .form(let route): try answer(route, request, carryOut: carryOut)
        }
    }

    private func answer(_ route: AppleRoute.Form, _ request: ReceivedRequest, carryOut: Bool) throws -> Reply {
        do {
            guard
                request.mediaType == nil && request.body.isEmpty
                    || request.mediaType == "application/x-www-form-urlencoded"
            else { throw AppleError.request("the body is not a form") }
            let form = try FormBody(request.body)
            let now = clock.now
            switch route {
            case .token:
                var reply = try Reply.json(try change(carryOut) { try $0.token(form, now: now) })
                reply.headers[.cacheControl] = "no-store"
                return reply
            case .migration:
                return try .json(try change(carryOut) { try $0.migrate(form, bearer: request.bearer, now: now) })
            case .revoke:
                let ended = try change(carryOut) { try $0.revoke(form, now: now) }
                var reply = Reply(status: 200)
                if carryOut, let ended { reply.afterwards = { consentEnded(ended) } }
                return reply
            }
        } catch let error as AppleError {
            return try Self.errorReply(code: error.code.rawValue, description: error.text, reason: error.reason)
        } catch let fault as FormBody.Fault {
            return try Self.errorReply(
                code: AppleError.Code.invalidRequest.rawValue,
                description: nil,
                reason: fault.description
            )
        }
    }

    static func errorReply(code: String, description: String?, reason: String) throws -> Reply {
        struct Body: Encodable {
            let error: String
            let errorDescription: String?

            enum CodingKeys: String, CodingKey {
                case error
                case errorDescription = "error_description"
            }
        }
        return try .json(Body(error: code, errorDescription: description), status: 400, reason: reason)
    }

    private func keys() throws -> Reply {
        struct Set: Encodable {
            let keys: [JSONWebKey]
        }
        return try .json(Set(keys: try apple.state.withLock { try $0.keyRing.published.map { try $0.jwk() } }))
    }

    private func change<Answer: Sendable>(
        _ carryOut: Bool,
        _ body: @Sendable (inout AppleState) throws -> Answer
    ) throws -> Answer {
        try apple.state.withLock { state in
            if carryOut { return try body(&state) }
            var copy = state
            return try body(&copy)
        }
    }
}
