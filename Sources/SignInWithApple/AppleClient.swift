import HTTPCalls
import Logging
package import Sealing

/// Apple's REST API for one client id.
///
/// Outcomes are values; a call throws only `CancellationError`, when its task is cancelled. Cancellation does not prove
/// that Apple did not act. While Apple rejects this client id, the breaker answers calls without sending them.
package struct AppleClient: Sendable {
    /// The client id, team and key.
    package let identity: AppleClientIdentity
    let transport: AppleTransport

    /// The bundle id or Services ID.
    var clientID: String { identity.clientID }

    /// Exchanges an authorization code.
    ///
    /// A code lives five minutes and works once. The call is therefore sent once; it is retried only while it is
    /// certain that no complete request was sent.
    ///
    /// - Parameters:
    ///   - code: The code that the app received.
    ///   - redirectURI: The redirect URI of the web flow; nil for native apps, which have none.
    /// - Returns: The outcome; see ``CodeExchangeOutcome``.
    /// - Throws: `CancellationError`.
    package func exchange(
        code: Secret<String>,
        redirectURI: String?
    ) async throws(CancellationError) -> CodeExchangeOutcome {
        var fields = [("grant_type", "authorization_code"), ("code", code.reveal())]
        if let redirectURI { fields.append(("redirect_uri", redirectURI)) }
        let answer = try await send(.exchange, fields)
        switch answer {
        case .success(let body): return Self.grant(body)
        case .refused(let refusal, _):
            return refusal.code == .invalidGrant || refusal.isAfterGoodTest ? .codeRefused(refusal) : .refused(refusal)
        case .delayed(let delay):
            switch delay.cause {
            case .unreachable, .throttled, .breakerOpen: return .later(delay)
            case .timedOut, .interrupted, .serverError, .notUnderstood: return .ambiguous(delay)
            }
        }
    }

    /// Checks whether a grant is still valid; Apple allows at most one check per user and day.
    ///
    /// - Returns: Apple's verdict; see ``RefreshCheckOutcome``.
    /// - Throws: `CancellationError`.
    package func check(refreshToken: Secret<String>) async throws(CancellationError) -> RefreshCheckOutcome {
        let answer = try await send(
            .refresh,
            [("grant_type", "refresh_token"), ("refresh_token", refreshToken.reveal())]
        )
        switch answer {
        case .success(let body):
            guard let json = try? StrictJSON(parsing: body), json["access_token"]?.text != nil else {
                return .later(AppleDelay(.notUnderstood(status: 200)))
            }
            return .live
        case .refused(let refusal, _):
            switch refusal.code {
            case .invalidGrant: return .grantGone(refusal)
            case .invalidRequest: return .doubtful(refusal)
            case .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .other:
                return .misconfigured(misconfiguration(refusal))
            }
        case .delayed(let delay): return .later(delay)
        }
    }

    /// Revokes the user's authorization for this client and its app group.
    ///
    /// The call is idempotent.
    ///
    /// - Returns: The outcome; see ``RevocationOutcome``.
    /// - Throws: `CancellationError`.
    package func revoke(_ refreshToken: Secret<String>) async throws(CancellationError) -> RevocationOutcome {
        let answer = try await send(
            .revoke,
            [("token", refreshToken.reveal()), ("token_type_hint", "refresh_token")]
        )
        switch answer {
        case .success: return .revoked
        case .refused(let refusal, _) where refusal.code == .invalidGrant: return .grantUnknown(refusal)
        case .refused(let refusal, _): return .misconfigured(misconfiguration(refusal))
        case .delayed(let delay): return .later(delay)
        }
    }

    /// Tests client, team and key without consuming anything: Apple refuses a code that cannot exist with
    /// `invalid_grant` if the credentials are good, and with `invalid_client` otherwise.
    ///
    /// The test is sent even if the breaker is open, and its result closes or opens the breaker.
    ///
    /// - Returns: The result of the test.
    /// - Throws: `CancellationError`.
    package func selfTest() async throws(CancellationError) -> SelfTestOutcome {
        let answer = try await transport.sendDirectly(.selfTest, Self.selfTestFields, for: identity)
        transport.breakers.settle(clientID, by: answer, at: transport.now(), logger: transport.logger)
        return outcome(ofSelfTest: answer)
    }
}

// MARK: - Shared by the calls

extension AppleClient {
    static let selfTestFields = [("grant_type", "authorization_code"), ("code", "self-test.0.no-such-code")]

    func send(_ call: AppleTransport.Call, _ fields: [(String, String)]) async throws(CancellationError) -> AppleAnswer
    {
        try await transport.send(call, fields, for: identity)
    }

    func misconfiguration(_ refusal: AppleRefusal) -> AppleMisconfiguration {
        AppleMisconfiguration(refusal, of: identity)
    }

    func outcome(ofSelfTest answer: AppleAnswer) -> SelfTestOutcome {
        switch answer {
        // Not expected for a code that cannot exist, but it would show that the client is good.
        case .success: .good
        case .refused(let refusal, _) where refusal.code == .invalidGrant: .good
        case .refused(let refusal, _): .misconfigured(misconfiguration(refusal))
        case .delayed(let delay): .later(delay)
        }
    }

    private static func grant(_ body: [UInt8]) -> CodeExchangeOutcome {
        guard let json = try? StrictJSON(parsing: body),
            let refresh = json["refresh_token"]?.text, !refresh.isEmpty
        else { return .ambiguous(AppleDelay(.notUnderstood(status: 200))) }
        return .granted(
            AppleGrant(
                refreshToken: Secret(refresh),
                identityToken: json["id_token"]?.text.map { Secret($0) }
            )
        )
    }
}
