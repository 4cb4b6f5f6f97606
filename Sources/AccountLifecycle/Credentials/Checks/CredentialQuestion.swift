import Logging
import Postgres
import Sealing
import SignInWithApple

/// Asks Apple whether one credential is valid, and records the answer with it.
struct CredentialQuestion {
    /// Apple's answer, or why there is none.
    enum Answer: Sendable, Hashable {
        case lives
        /// Apple refuses the token; ``RefusalProof`` finds out whether that is about the person.
        case refused
        /// An answer that may be our own fault.
        case doubtful
        /// The token cannot be opened here: a problem of ours with this one credential.
        case unreadable
        /// Apple was not asked, or did not answer, which would be the same for every credential of the client id.
        case unavailable(after: Duration?)
    }

    let services: CredentialServices

    func ask(_ credential: HeldCredential) async throws -> Answer {
        guard let client = services.apple[credential.clientID] else { return .unavailable(after: nil) }
        let token: Secret<String>
        do {
            token = try services.keys.openText(
                credential.sealed,
                for: AppleCredential.context(user: credential.user, clientID: credential.clientID)
            )
        } catch {
            services.logger.error(
                "a stored Apple credential cannot be opened",
                metadata: ["credential": "\(credential.id)", "reason": "\(error)"]
            )
            return .unreadable
        }
        switch try await services.apple.inTurn({ try await client.check(refreshToken: token) }) {
        case .live:
            let teamID = client.identity.teamID
            try await note(credential, "last_live_at = clock_timestamp(), doubts = 0, team_id = \(teamID)")
            return .lives
        case .grantGone:
            try await note(credential, "doubts = least(doubts + 1, 1000)")
            return .refused
        case .doubtful:
            try await note(credential, "doubts = least(doubts + 1, 1000)")
            return .doubtful
        case .misconfigured(let reason):
            services.logger.error(
                "Apple rejects the configured client id, team or key",
                metadata: ["reason": "\(reason)"]
            )
            return .unavailable(after: nil)
        case .later(let delay): return .unavailable(after: delay.retryAfter)
        }
    }

    /// Records that Apple answered for a device's report.
    func noteReport(_ credential: HeldCredential) async throws {
        try await note(credential, "report_answered_at = clock_timestamp()")
    }

    /// Records an answer, unless the token was replaced while Apple was asked: the answer is not about the new one.
    private func note(_ credential: HeldCredential, _ change: Statement) async throws {
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                "update accountctl.apple_credentials set checked_at = clock_timestamp(), " + change
                    + " where id = \(credential.id) and sealed_token = \(credential.sealed)"
            )
        }
    }
}
