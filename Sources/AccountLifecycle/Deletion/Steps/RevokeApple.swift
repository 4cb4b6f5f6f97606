import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRun {
    /// How many attempts to revoke a credential are made once the account is locked out, before the credential is
    /// handed over to a later job.
    static let appleAttempts = 5

    /// Revokes every credential held, each with its own client id, after checking that it is not another account's by
    /// now.
    ///
    /// A credential that Apple does not revoke within some attempts is handed over to a job apart from this request:
    /// the account is locked out, and its erasure does not wait for Apple.
    func revokeApple() async throws -> StepResult {
        do {
            if let end = try await askOnceMore() { return end }
            return try await revokeAll()
        } catch {
            let isOver = error is Braked || error is PlanOvertaken
            if isOver || (error as? PostgresError)?.connectionUsable == true { try await withdrawUnasked() }
            throw error
        }
    }

    private func revokeAll() async throws -> StepResult {
        // A credential may arrive, or replace one that is being revoked: the step is done when none is left.
        while true {
            let credentials = try await services.pool.withConnection { connection -> [AppleCredential]? in
                if try isCodeUnderWay(on: connection) { return nil }
                return try AppleCredential.all(of: user, on: connection)
            }
            guard let credentials else { return try await waitForCode() }
            for credential in credentials {
                if let situation = try await revoke(credential) {
                    try await withdrawUnasked()
                    return .failed(situation)
                }
            }
            if try await concludeApple() { return .recorded }
        }
    }

    /// Deals with one credential; returns what holds up the request, if anything does.
    private func revoke(_ credential: AppleCredential) async throws -> Situation? {
        guard !credential.belongsToAnother else {
            try await giveUp(credential, because: Self.belongsToAnother)
            return nil
        }
        let token: Secret<String>
        do {
            token = try services.vault.keys.openText(credential.sealedToken, for: credential.context)
        } catch {
            // Our own fault, not Apple's: a worker with an outdated key file must not destroy what the others can open.
            guard canGoOnWithoutKey else {
                return Situation(.sealingKeyMissing, subject: credential.sealingKeyID, detail: "\(error)")
            }
            try await giveUp(credential, because: "\(error)")
            return nil
        }
        let asked = try await services.apple.inTurn { () -> (answer: AppleGateway.Revocation, at: Date?)? in
            // If nothing will be sent, the step does not commit itself yet.
            if !canGoOnWithoutApple(isAsked: false),
                let situation = try await services.apple.pause(of: credential.clientID)
            {
                return (AppleGateway.Revocation.unasked(situation), nil)
            }
            try lease?(services.apple.longestCall)
            // The wait in the queue may have been long. This commit, and every earlier one such as the lock-out, is on
            // disk before Apple is asked.
            let askedAt = try await services.pool.withTransaction { connection -> Date? in
                try journal.fenceFlushing(connection)
                let now = try holdBrakesAndLookAgain(.revokeApple, on: connection)
                guard try !credential.isAnothers(on: connection) else { return nil }
                try journal.commit(to: .revokeApple, on: connection)
                return now
            }
            guard let askedAt else { return nil }
            // The flush or the row lock may have taken long.
            try lease?(services.apple.longestCall)
            let (clientID, teamID) = (credential.clientID, credential.teamID)
            return (try await services.apple.revoke(token, clientID: clientID, teamID: teamID), askedAt)
        }
        guard let (answer, askedAt) = asked else {
            try await giveUp(credential, because: Self.belongsToAnother)
            return nil
        }
        switch answer {
        case .ofFormerTeam:
            try await giveUp(credential, because: Self.isOfFormerTeam)
        case .revoked:
            try await services.probe(.middle(.revokeApple))
            try await services.pool.withConnection { try forget(credential, as: .revoked, at: askedAt, on: $0) }
        case .unknownGrant(let situation), .trouble(let situation):
            guard canGoOnWithoutApple(isAsked: true) else { return situation }
            try await handOver(credential, token, because: situation)
        case .unasked(var situation):
            guard canGoOnWithoutApple(isAsked: false) else {
                situation.isUnasked = true
                return situation
            }
            try await handOver(credential, token, because: situation)
        }
        return nil
    }

    /// Whether trouble at Apple no longer holds up this request: if nothing was sent, every failure in a row counts,
    /// whatever its cause.
    private func canGoOnWithoutApple(isAsked: Bool) -> Bool {
        let failures = isAsked ? record.appleFailures : record.failures
        return record.withoutApple || failures + 1 >= Self.appleAttempts || record.facts.now >= appleGiveUp
    }

    /// Whether a credential that cannot be opened no longer holds up this request.
    ///
    /// A late request may reach its limit before anybody has looked, and an operator who continues without Apple still
    /// wants the credential revoked later, for which it has to be opened. So some attempts must have failed as well.
    private var canGoOnWithoutKey: Bool {
        // Every failure counts: `appleFailures` leaves out those for a missing key.
        (record.withoutApple || record.facts.now >= appleGiveUp)
            && record.failures + 1 >= Self.appleAttempts
    }

    /// Whether a code of the account may still become a credential.
    func isCodeUnderWay(on connection: isolated Connection) throws -> Bool {
        // Expired codes are wiped here, too, so that a request need not wait for the upkeep.
        try journal.write(
            """
            expired as (
                \(CodeExchange.expiring) and user_id = \(user) and exists (select from held)
                returning id
            )
            """,
            asking: """
                exists (
                    select
                    from accountctl.authorization_codes
                    where user_id = \(user) and code is not null and id not in (select id from expired)
                )
                """,
            on: connection
        )
    }
}
