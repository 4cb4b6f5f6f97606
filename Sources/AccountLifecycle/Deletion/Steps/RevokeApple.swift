import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRun {
    /// Revokes every credential held, each with its own client id, after checking that it is not somebody else's by
    /// now.
    ///
    /// What Apple does not take within some attempts is handed over to later attempts apart from this request: the
    /// account is locked out, and its erasure does not wait for Apple.
    func revokeApple() async throws -> StepResult {
        do {
            if let refused = try await askOnceMore() { return refused }
            return try await revokeAll()
        } catch {
            if error is Braked || (error as? PostgresError)?.connectionUsable == true { try await withdrawUnasked() }
            throw error
        }
    }

    private func revokeAll() async throws -> StepResult {
        // A credential may come in, or take the place of one that is being revoked: done is when none is left.
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

    /// Deals with one credential; what holds the request up is returned.
    private func revoke(_ credential: AppleCredential) async throws -> Situation? {
        guard !credential.belongsToAnother else {
            try await giveUp(credential, because: Self.belongsToAnother)
            return nil
        }
        let token: Secret<String>
        do {
            token = try services.vault.keys.openText(credential.sealedToken, for: credential.context)
        } catch {
            // Our own fault, not Apple's: a worker with an older file of keys must not destroy what the others can
            // open.
            guard canGoOnWithoutKey else {
                return Situation(.sealingKeyMissing, subject: credential.sealingKeyID, detail: "\(error)")
            }
            try await giveUp(credential, because: "\(error)")
            return nil
        }
        let asked = try await services.apple.inTurn { () -> (answer: AppleGateway.Revocation, at: Date?)? in
            // Where nothing is going to be sent, nothing has begun.
            if !canGoOnWithoutApple(isAsked: false),
                let situation = try await services.apple.pause(of: credential.clientID)
            {
                return (AppleGateway.Revocation.unasked(situation), nil)
            }
            try lease?(services.apple.longestCall)
            // The line may have been long. What is committed here, the lock-out before it too, is on disk before Apple
            // is asked.
            let askedAt = try await services.pool.withTransaction { connection -> Date? in
                try journal.fenceFlushing(connection)
                let now = try holdBrakesAndLookAgain(.revokeApple, on: connection)
                guard try !credential.isAnothers(on: connection) else { return nil }
                try journal.commit(to: .revokeApple, on: connection)
                return now
            }
            guard let askedAt else { return nil }
            // The disk may have been slow, or the row locked.
            try lease?(services.apple.longestCall)
            return (try await services.apple.revoke(token, clientID: credential.clientID), askedAt)
        }
        switch asked?.answer {
        case nil:
            try await giveUp(credential, because: Self.belongsToAnother)
        case .revoked:
            try await services.probe(.middle(.revokeApple))
            try await services.pool.withConnection { try forget(credential, as: .revoked, at: asked?.at, on: $0) }
        case .trouble(let situation):
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

    /// Whether trouble at Apple no longer holds this request up: of tries that were not sent each counts, whatever the
    /// others failed for.
    private func canGoOnWithoutApple(isAsked: Bool) -> Bool {
        let failures = isAsked ? record.appleFailures : record.failures
        return record.withoutApple || failures + 1 >= services.policy.appleAttempts || record.facts.now >= appleGiveUp
    }

    /// Whether a credential that does not open no longer holds this request up.
    ///
    /// Of one that is late, its time may be over before anybody has looked, and whoever goes on without Apple means to
    /// have it revoked later, for which it has to be opened: some tries have to be in vain, too.
    private var canGoOnWithoutKey: Bool {
        // Each try counts: those of Apple's leave out the keys that we lack.
        (record.withoutApple || record.facts.now >= appleGiveUp)
            && record.failures + 1 >= services.policy.appleAttempts
    }

    /// How the step ends while a code of the account may still become a credential.
    var codeIsUnderWay: StepResult { .stopped(.running, Situation(.codeUnderWay), lookAgainAfter: .seconds(5)) }

    /// Whether a code of the account may still become a credential.
    func isCodeUnderWay(on connection: isolated Connection) throws -> Bool {
        // Wiped here, too: a request need not wait for the upkeep.
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
