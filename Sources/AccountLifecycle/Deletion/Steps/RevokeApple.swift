import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRun {
    /// Revokes every credential held, each with its own client id, after checking that it is this account's.
    ///
    /// What Apple does not take within some attempts is handed over to later attempts apart from this request: the account is
    /// locked out, and its erasure does not wait for Apple.
    func revokeApple() async throws -> StepResult {
        if try await isCodeUnderWay() {
            return .stopped(.running, Situation(.failing, detail: "a code is being exchanged"), lookAgainAfter: 5)
        }
        let credentials = try await services.pool.withConnection { connection in
            try AppleCredential.all(of: user, on: connection)
        }
        for credential in credentials {
            guard credential.belongsToAccount else {
                try await services.pool.withConnection { try lookAgain(.revokeApple, on: $0) }
                try await forget(credential, as: .notRevoked)
                continue
            }
            let token: Secret<String>
            do {
                token = try services.vault.keys.openText(credential.sealedToken, for: credential.context)
            } catch {
                guard canGoOnWithoutApple else {
                    return .failed(Situation(.sealingKeyMissing, subject: credential.sealingKeyID, detail: "\(error)"))
                }
                try await services.pool.withConnection { try lookAgain(.revokeApple, on: $0) }
                try await forget(credential, as: .notRevoked)
                continue
            }
            let answer = try await services.apple.inTurn {
                // The line may have been long.
                try await services.pool.withConnection { try lookAgain(.revokeApple, on: $0) }
                try lease?(services.apple.longestCall)
                return try await services.apple.revoke(token, clientID: credential.clientID)
            }
            switch answer {
            case .revoked:
                try await services.probe(.middle(.revokeApple))
                try await forget(credential, as: .revoked)
            case .refused:
                try await forget(credential, as: .notRevoked)
            case .trouble(let situation):
                guard canGoOnWithoutApple else { return .failed(situation) }
                try await handOver(credential, token)
            }
        }
        return try await concludeApple()
    }

    /// Whether trouble at Apple no longer holds this request up.
    private var canGoOnWithoutApple: Bool {
        record.withoutApple || record.failures + 1 >= services.policy.appleAttempts || record.facts.now >= appleGiveUp
    }

    /// Whether a code that came with the request may still become a credential.
    private func isCodeUnderWay() async throws -> Bool {
        try await services.pool.withConnection { connection in
            try connection.one(
                """
                select exists (
                    select
                    from accountctl.authorization_codes
                    where user_id = \(user) and code is not null and expires_at > clock_timestamp()
                )
                """,
                as: Bool.self
            )
        }
    }

    /// Removes a credential and counts what became of it, at once.
    private func forget(_ credential: AppleCredential, as outcome: StepOutcome) async throws {
        try await services.pool.withConnection { connection in
            try journal.write("\(removed(credential)), \(counted(outcome))", on: connection)
        }
    }

    /// Moves a credential to where it names no user and is tried again.
    private func handOver(_ credential: AppleCredential, _ token: Secret<String>) async throws {
        let binding = UUID()
        let context = PendingRevocation.context(binding: binding, clientID: credential.clientID)
        let sealed = services.vault.keys.seal(token, for: context)
        try await services.pool.withConnection { connection in
            try journal.write(
                """
                \(removed(credential)),
                pending as (
                    insert into accountctl.pending_revocations
                        (request_id, client_id, binding, sealed_token, sealing_key_id, give_up_at)
                    select
                        \(record.id), \(credential.clientID), \(binding), \(sealed.text), \(sealed.keyID.text),
                        clock_timestamp() + \(services.policy.revocationGiveUp.wholeSeconds) * interval '1 second'
                    from removed
                ),
                \(counted(.pending))
                """,
                on: connection
            )
        }
    }

    private func removed(_ credential: AppleCredential) -> Statement {
        """
        removed as (
            delete from accountctl.apple_credentials
            where id = \(credential.id) and exists (select from held)
            returning id
        )
        """
    }

    /// Adds to the request's own row, so that a crash between two credentials forgets nothing.
    private func counted(_ outcome: StepOutcome) -> Statement {
        """
        request as (
            update accountctl.deletion_requests
            set apple_counts = apple_counts || jsonb_build_object(
                \(outcome.rawValue)::text,
                coalesce((apple_counts ->> \(outcome.rawValue))::integer, 0) + 1
            )
            where id = \(record.id) and exists (select from removed)
        )
        """
    }

    /// Says what became of everything held, the worst first.
    private func concludeApple() async throws -> StepResult {
        try await services.pool.withConnection { connection in
            // Whoever else would change it is kept out by the fence, or finds nothing left to count.
            let (counts, isUnknown) = try connection.one(
                """
                select apple_counts, exists (
                    select
                    from accountctl.authorization_codes
                    where user_id = \(user) and state = 'grant_unknown'
                )
                from accountctl.deletion_requests
                where id = \(record.id)
                """,
                as: (JSON<[String: Int]>, Bool).self
            )
            let outcome: StepOutcome =
                if counts.value[StepOutcome.notRevoked.rawValue] != nil {
                    .notRevoked
                } else if counts.value[StepOutcome.pending.rawValue] != nil { .pending }
                // A revoked credential ends the whole authorisation of the person, an unknown grant among it.
                else if counts.value[StepOutcome.revoked.rawValue] != nil { .revoked } else if isUnknown {
                    .grantUnknown
                } else { .notHeld }
            try journal.finishApple(outcome, StepFacts(counts: counts.value), on: connection)
            return .recorded
        }
    }
}
