package import JobQueue
import Logging
import SignInWithApple

/// Exchanges an authorization code for the credential that can be revoked later.
///
/// A code lives five minutes and works once. The possible call is recorded before it is made, and a code that Apple may
/// have consumed is never sent again. If the process dies after Apple answered, or the answer is lost, the outcome is
/// "grant unknown", not "nothing held", and the app is asked for a new code. The same holds if the job passed to
/// another worker in between: the first worker's result is not stored, since the second has already recorded "grant
/// unknown".
///
/// A grant is never dropped because its account is gone: if the account was deleted while Apple answered, the grant
/// goes to the pending revocations.
package struct CodeExchange: Sendable {
    /// The outcome of an exchange.
    package enum Outcome: Sendable, Hashable {
        /// Settled, now or before, in the recorded state.
        case settled(AuthorizationCodeState)
        /// The account was deleted with its code while Apple answered; the grant waits to be revoked.
        case handedOver
        /// There is no such code: it was deleted with its account.
        case unknown
        /// Not yet: retry after this time.
        case again(after: Duration, Situation)
    }

    /// The time limit of an exchange, from taking the code to storing the grant; after it the job is cancelled.
    package static let longest = Duration.seconds(60)

    /// How long before a code expires it is tried for the last time, whatever delay Apple asked for.
    private static let lastTry = Duration.seconds(20)

    let services: DeletionServices

    package init(_ services: DeletionServices) {
        self.services = services
    }

    /// Exchanges a stored code.
    ///
    /// `fence` rejects every write once another worker has the job.
    ///
    /// - Throws: ``PostgresError``; ``JobQueueError`` `leaseLost`; `CancellationError`.
    package func run(_ id: Int64, fence: JobFence? = nil) async throws -> Outcome {
        guard let code = try await take(id, fence) else { return .unknown }
        guard let secret = code.secret else { return .settled(code.state) }
        guard code.state == .received else { return try await settle(id, .grantUnknown, fence) }
        guard code.life > .zero else { return try await settle(id, .expired, fence) }
        // The account has no Apple identity, so no grant can be its own. Apple is not asked: calls would be spent on
        // codes of people who sign up in another way, and nobody could revoke a grant that Apple gave.
        guard !code.subjects.isEmpty else { return try await settle(id, .wrongAccount, fence) }
        try await services.probe(.beforeExchange)
        let exchange = try await services.apple.exchange(
            secret,
            clientID: code.clientID,
            redirectURI: code.redirectURI
        )
        try await services.probe(.afterExchange)
        switch exchange {
        case .granted(let grant):
            return try await store(grant, for: id, code, fence)
        case .refused(let refusal, let clientID):
            return try await refuse(id, clientID, refusal, fence)
        case .doubtful(let refusal, let clientID):
            // Apple granted nothing; that is recorded before Apple is asked again, since that call may be interrupted.
            try await giveBack(id, fence)
            guard let situation = try await services.apple.test(clientID) else {
                return try await refuse(id, clientID, refusal, fence)
            }
            return again(code, situation)
        case .unusable(let problem):
            services.log.error(
                "Apple's grant for an authorization code cannot be used, and can never be revoked",
                metadata: ["code_id": "\(id)", "identity_token": "\(problem?.rawValue ?? "missing")"]
            )
            return try await settle(id, .grantUnknown, fence)
        case .answerLost(let delay):
            services.log.warning(
                "Apple's answer to an authorization code was lost, and what it may have granted can never be revoked",
                metadata: ["code_id": "\(id)", "reason": "\(delay)"]
            )
            return try await settle(id, .grantUnknown, fence)
        case .trouble(let situation):
            try await giveBack(id, fence)
            return again(code, situation)
        }
    }

    /// Retries after the delay that Apple asked for, or earlier so that a last try comes while the code still lives.
    private func again(_ code: Code, _ situation: Situation) -> Outcome {
        let least = Duration.seconds(5)
        return .again(after: max(least, min(situation.delay(atLeast: least), code.life - Self.lastTry)), situation)
    }

    private func refuse(
        _ id: Int64,
        _ clientID: String,
        _ refusal: AppleRefusal,
        _ fence: JobFence?
    ) async throws -> Outcome {
        services.log.notice(
            "Apple refused an authorization code",
            metadata: ["code_id": "\(id)", "client_id": "\(clientID)", "reason": "\(refusal)"]
        )
        return try await settle(id, .refused, fence)
    }
}
