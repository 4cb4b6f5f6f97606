package import Sealing

/// Transfers users to another team, as Apple's technote TN3159 describes.
///
/// Both teams' endpoints work from the start of the transfer until sixty days after its acceptance. The client id stays
/// the same on both sides; only team and key change.
extension AppleClient {
    /// Requests the access token that ``transferIdentifier(ofSub:targetTeam:token:)`` and
    /// ``exchange(transferIdentifier:token:)`` need.
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

    /// Requests, as the sending team, the identifier by which the recipient team can find a user.
    ///
    /// - Parameters:
    ///   - sub: The user's sub in the sending team.
    ///   - targetTeam: The team id of the **recipient**.
    ///   - token: The token from ``migrationToken()``.
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

    /// Requests, as the recipient team, the new sub of a transferred user.
    ///
    /// - Parameters:
    ///   - transferIdentifier: The identifier that the sending team got from
    ///     ``transferIdentifier(ofSub:targetTeam:token:)``.
    ///   - token: The token from ``migrationToken()``.
    /// - Returns: The new sub, and the new relay address if there is one.
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
            // Apple's answer for users who revoked earlier, which is normal in a large run.
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
