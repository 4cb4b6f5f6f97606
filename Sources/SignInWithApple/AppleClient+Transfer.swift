package import Sealing

/// Moving users to another team, Apple's technote TN3159.
///
/// Both teams' endpoints work from the transfer's start until sixty days after it was accepted. The client id is the
/// same on both sides; only team and key change.
extension AppleClient {
    /// Gets the token that the two calls below need.
    ///
    /// - Returns: The token; see ``MigrationTokenOutcome``.
    /// - Throws: `CancellationError`.
    package func migrationToken() async throws(CancellationError) -> MigrationTokenOutcome {
        let answer = try await send(
            .migrationToken,
            [("grant_type", "client_credentials"), ("scope", "user.migration")]
        )
        switch answer {
        case .success(let body):
            guard let json = try? StrictJSON(parsing: body), let token = json["access_token"]?.text else {
                return .later(AppleDelay(.notUnderstood(status: 200)))
            }
            let lifetime = min(max(json["expires_in"]?.numeric ?? 3600, 0), 86400)
            return .granted(Secret(token), lifetime: .seconds(lifetime))
        case .refused(let refusal, _): return .misconfigured(misconfiguration(refusal))
        case .delayed(let delay): return .later(delay)
        }
    }

    /// Asks, as the sending team, for the identifier by which the recipient team can find a user.
    ///
    /// - Parameters:
    ///   - sub: The user's sub in the sending team.
    ///   - targetTeam: The team id of the **recipient**.
    ///   - token: What ``migrationToken()`` gave.
    /// - Returns: The transfer identifier, one for each pair of sub and recipient.
    /// - Throws: `CancellationError`.
    package func transferIdentifier(
        ofSub sub: String,
        targetTeam: String,
        token: Secret<String>
    ) async throws(CancellationError) -> TransferOutcome<String> {
        let answer = try await transport.send(
            .migrate,
            [("sub", sub), ("target", targetTeam)],
            for: identity,
            bearer: token
        )
        return transferOutcome(answer) { $0["transfer_sub"]?.text }
    }

    /// Asks, as the recipient team, who a moved user is now.
    ///
    /// - Parameters:
    ///   - transferIdentifier: What the sending team got from ``transferIdentifier(ofSub:targetTeam:token:)``.
    ///   - token: What ``migrationToken()`` gave.
    /// - Returns: The new sub, and the new relay address where there is one.
    /// - Throws: `CancellationError`.
    package func exchange(
        transferIdentifier: String,
        token: Secret<String>
    ) async throws(CancellationError) -> TransferOutcome<TransferredUser> {
        let answer = try await transport.send(
            .migrate,
            [("transfer_sub", transferIdentifier)],
            for: identity,
            bearer: token
        )
        return transferOutcome(answer) { json in
            json["sub"]?.text.map { sub in
                TransferredUser(
                    sub: sub,
                    email: json["email"]?.text,
                    isPrivateEmail: json["is_private_email"]?.truth
                )
            }
        }
    }

    private func transferOutcome<Value: Sendable>(
        _ answer: AppleAnswer,
        _ read: (StrictJSON) -> Value?
    ) -> TransferOutcome<Value> {
        switch answer {
        case .success(let body):
            guard let json = try? StrictJSON(parsing: body), let value = read(json) else {
                return .later(AppleDelay(.notUnderstood(status: 200)))
            }
            return .done(value)
        case .refused(_, status: 401): return .tokenExpired
        case .refused(let refusal, _):
            switch refusal.code {
            // Apple answers so for users who revoked before, which is normal in a large run.
            case .invalidRequest, .invalidGrant: return .userRefused(refusal)
            case .invalidClient, .unauthorizedClient, .unsupportedGrantType, .invalidScope, .other:
                return .misconfigured(misconfiguration(refusal))
            }
        case .delayed(let delay):
            if delay.cause == .notUnderstood(status: 401) { return .tokenExpired }
            return .later(delay)
        }
    }
}
