import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What Apple says about an account's credentials after a device reported something.
struct CredentialConfirmation: Sendable, Hashable {
    /// What was found out.
    enum Finding: Sendable, Hashable {
        case lives
        /// Refused, while the same client id works for others.
        case gone
        /// Refused, and nothing shows that the client id works at all; or an answer that may be our own fault.
        case inconclusive
        case nothingHeld
        /// Apple gave no answer, or could not be asked.
        case unavailable(after: Duration?)
    }

    let finding: Finding
    /// The client ids whose grants are gone.
    var gone: Set<String> = []
}

extension CredentialChecks {
    /// Checks an account's credentials now, to confirm what a device reported.
    ///
    /// An answer that is newer than the report serves again. A question counts as the check of the day.
    ///
    /// - Parameters:
    ///   - user: The account.
    ///   - clientID: The client id that the device spoke of; nil for every one that is held.
    ///   - happenedAt: When the device saw it.
    /// - Returns: What was found.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func confirm(user: UUID, clientID: String?, happenedAt: Date) async throws -> CredentialConfirmation {
        let held = try await take(user, clientID)
        guard !held.isEmpty else { return CredentialConfirmation(finding: .nothingHeld) }
        let question = CredentialQuestion(services: services)
        let proof = RefusalProof(services: services)
        var findings: [CredentialConfirmation.Finding] = []
        var gone: Set<String> = []
        for credential in held {
            if let seen = credential.lastLiveAt, seen >= happenedAt {
                findings.append(.lives)
                continue
            }
            let beginning = try await proof.beginning()
            switch try await question.ask(credential) {
            case .lives: findings.append(.lives)
            case .refused:
                if try await proof.works(credential.clientID, since: beginning, besides: [user]) {
                    gone.insert(credential.clientID)
                } else {
                    findings.append(.inconclusive)
                }
            case .doubtful: findings.append(.inconclusive)
            case .unreadable: findings.append(.unavailable(after: nil))
            case .unavailable(let pause): findings.append(.unavailable(after: pause))
            }
        }
        guard gone.isEmpty else { return CredentialConfirmation(finding: .gone, gone: gone) }
        let silence = findings.first { if case .unavailable = $0 { true } else { false } }
        return CredentialConfirmation(
            finding: silence ?? (findings.contains(.inconclusive) ? .inconclusive : .lives)
        )
    }

    private func take(_ user: UUID, _ clientID: String?) async throws -> [HeldCredential] {
        let interval = services.policy.checkInterval.components.seconds
        return try await services.pool.withConnection { connection in
            try connection.query(
                """
                update accountctl.apple_credentials
                set check_after = greatest(check_after, now() + \(interval) * interval '1 second')
                where user_id = \(user)
                  and client_id = coalesce(\(clientID), client_id)
                returning
                """ + " " + HeldCredential.columns,
                as: (Int64, UUID, String, String, Date?).self
            )
        }.map(HeldCredential.init).sorted { $0.id < $1.id }
    }
}
