import HTTPCalls
import Logging
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends the calls of all clients: consults the breaker, mints the client secret and interprets the answer.
struct AppleTransport: Sendable {
    let caller: HTTPCaller
    let address: ServiceAddress
    let breakers: AppleBreakers
    let now: @Sendable () -> Date
    let logger: Logger
    let deadline: Duration

    /// The endpoint of a call, and whether the call may be retried.
    struct Call: Sendable {
        let label: String
        let path: String
        var repetition = HTTPCall.Repetition.always
        let form: AppleAnswer.Form
        /// Whether Apple's `invalid_client` is certain to be about the client.
        var judgesClient = true

        /// The code exchange, whose refusals do not judge the client.
        ///
        /// Its fields come from users, and Apple also answers `invalid_client` for a code of another client or with
        /// another redirect URI (see its page about ErrorResponse).
        static let exchange = Call(
            label: "apple.exchange",
            path: "/auth/token",
            repetition: .onlyIfNothingWasSent,
            form: tokens,
            judgesClient: false
        )
        static let refresh = Call(label: "apple.refresh", path: "/auth/token", form: tokens)
        static let selfTest = Call(label: "apple.self-test", path: "/auth/token", form: tokens)
        static let migrationToken = Call(label: "apple.migration-token", path: "/auth/token", form: tokens)
        static let migrate = Call(
            label: "apple.migrate",
            path: "/auth/usermigrationinfo",
            form: .object(holding: ["transfer_sub", "sub"])
        )
        static let revoke = Call(label: "apple.revoke", path: "/auth/revoke", form: .emptyOrObject)

        private static let tokens = AppleAnswer.Form.object(holding: ["access_token"])
    }

    /// Sends a call unless the breaker of the client id is open.
    ///
    /// Before the first call after a pause, the breaker requires a probe. The probe is the self-test, never a user's
    /// token.
    func send(
        _ call: Call,
        _ fields: [(String, String)],
        for identity: AppleClientIdentity,
        bearer: Secret<String>? = nil
    ) async throws(CancellationError) -> AppleAnswer {
        let key = identity.clientID
        let moment = now()
        switch breakers.admit(key, at: moment) {
        case .refuse(let until):
            return .delayed(AppleDelay(.breakerOpen, retryAfter: .seconds(max(0, until.timeIntervalSince(moment)))))
        case .proceed(let permit):
            return try await settling(key, permit, call) { () async throws(CancellationError) in
                try await sendDirectly(call, fields, for: identity, bearer: bearer)
            }
        case .probe(let permit):
            let test = try await settling(key, permit, .selfTest) { () async throws(CancellationError) in
                try await sendDirectly(.selfTest, AppleClient.selfTestFields, for: identity)
            }
            guard test.verdictOnClient == .good else {
                return .delayed(AppleDelay(.breakerOpen, retryAfter: breakers.pause(of: key, at: now())))
            }
            let answer = try await send(call, fields, for: identity, bearer: bearer)
            guard case .refused(var refusal, let status) = answer else { return answer }
            refusal.isAfterGoodTest = true
            return .refused(refusal, status: status)
        }
    }

    /// Sends a call without consulting the breaker.
    func sendDirectly(
        _ call: Call,
        _ fields: [(String, String)],
        for identity: AppleClientIdentity,
        bearer: Secret<String>? = nil
    ) async throws(CancellationError) -> AppleAnswer {
        guard let secret = try? ClientSecret.mint(for: identity, now: now()) else {
            return .refused(AppleRefusal(code: .other("cannot_sign")), status: 0)
        }
        var headers: [HTTPCall.Header] = [
            .init("Content-Type", "application/x-www-form-urlencoded"), .init("Accept", "application/json"),
        ]
        if let bearer { headers.append(.init("Authorization", bearer.map { "Bearer \($0)" })) }
        let form = [("client_id", identity.clientID), ("client_secret", secret.reveal())] + fields
        let outcome = try await caller.perform(
            HTTPCall(
                label: call.label,
                method: .post,
                address: address,
                path: call.path,
                headers: headers,
                body: Secret(PercentEncoding.form(form.map { (name: $0.0, value: $0.1) })),
                deadline: deadline,
                attemptTimeout: min(.seconds(15), deadline),
                repetition: call.repetition,
                maximumReplyBytes: 1 << 16
            )
        )
        let answer = AppleAnswer(outcome, call.form)
        // Apple gives the same error for a wrong key and a wrong clock.
        guard case .refused(var refusal, let status) = answer, refusal.code == .invalidClient,
            case .reply(let reply) = outcome, let date = reply.date
        else { return answer }
        refusal.clockAhead = ClientSecret.fault(of: now(), apple: date)
        return .refused(refusal, status: status)
    }

    private func settling(
        _ key: String,
        _ permit: CircuitBreaker.Permit,
        _ call: Call,
        _ body: () async throws(CancellationError) -> AppleAnswer
    ) async throws(CancellationError) -> AppleAnswer {
        do {
            let answer = try await body()
            if case .rejected = answer.verdictOnClient, !call.judgesClient {
                breakers.abandon(key, permit, at: now())
            } else {
                breakers.settle(key, permit, by: answer, at: now(), logger: logger)
            }
            return answer
        } catch {
            // A cancelled probe must not leave the breaker half-open until its time-out.
            breakers.abandon(key, permit, at: now())
            throw error
        }
    }
}
