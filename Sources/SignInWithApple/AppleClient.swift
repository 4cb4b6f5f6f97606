import HTTPCalls
import Logging
package import Sealing

/// Apple's REST API as one client id sees it.
///
/// Outcomes are values; a call throws only `CancellationError`, when its task is cancelled. Cancelling is no proof that
/// Apple did not act. While Apple rejects this client id, calls are answered by the breaker without being sent.
package struct AppleClient: Sendable {
    /// Who the client is.
    package let identity: AppleClientIdentity
    let transport: AppleTransport

    /// The bundle id or Services ID.
    var clientID: String { identity.clientID }

    /// Exchanges an authorization code.
    ///
    /// A code lives five minutes and works once. The call is sent once; it is repeated only while it is certain that
    /// nothing left this machine.
    ///
    /// - Parameters:
    ///   - code: The code as the app got it.
    ///   - redirectURI: The redirect URI of the web flow; nil for native apps, where there is none.
    /// - Returns: What became of it; see ``CodeExchangeOutcome``.
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

    /// Finds out whether a grant lives; Apple asks for at most one check per user and day.
    ///
    /// - Returns: What Apple says; see ``RefreshCheckOutcome``.
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

    /// Ends the user's authorization for this client and its app group.
    ///
    /// May be repeated freely.
    ///
    /// - Returns: What became of it; see ``RevocationOutcome``.
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

    /// Tests client, team and key without using anything up: with good credentials a code that cannot exist is
    /// `invalid_grant`, with others the answer is `invalid_client`.
    ///
    /// The test is sent whether the breaker is open or not, and its result closes or opens it.
    ///
    /// - Returns: What the test found.
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
        let kind: AppleMisconfiguration.Kind =
            switch refusal.code {
            case .invalidClient: .clientRejected
            case .unauthorizedClient: .clientNotAllowed
            case .invalidRequest, .invalidGrant, .unsupportedGrantType, .invalidScope, .other: .requestRejected
            }
        return AppleMisconfiguration(kind: kind, identity: identity, refusal: refusal)
    }

    func outcome(ofSelfTest answer: AppleAnswer) -> SelfTestOutcome {
        switch answer {
        // Nobody has seen Apple accept the code; if it did, the client would be good all the same.
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
