import Logging
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The fate of a credential once the Apple step has dealt with it.
extension DeletionRun {
    /// Removes a credential without asking Apple, unless the step is not to be taken any more.
    ///
    /// The fence is held until the credential is counted: whoever cancels comes before and is seen, or comes after and
    /// sees that the step has begun.
    func giveUp(_ credential: AppleCredential, because reason: String) async throws {
        try await services.pool.withTransaction { connection in
            try journal.fence(connection)
            try holdBrakesAndLookAgain(.revokeApple, on: connection)
            try forget(credential, as: .notRevoked, on: connection)
        }
        services.logger(for: record.id).warning(
            "a credential is not revoked at Apple",
            metadata: ["client_id": "\(credential.clientID)", "reason": "\(reason)"]
        )
    }

    /// Why a credential is not revoked if its Apple Account signs in to another account by now.
    static let belongsToAnother = "it now belongs to another account"

    /// Why a credential counts as not revoked, whatever Apple answers: it is dead since the app's transfer, unlike the
    /// person's authorization of the app.
    static let isOfFormerTeam = "it is of the team that the app left"

    /// Removes a credential and counts its outcome, in one statement.
    func forget(
        _ credential: AppleCredential,
        as outcome: StepOutcome,
        at moment: Date? = nil,
        on connection: isolated Connection
    ) throws {
        let revoked = moment.map { (credential.clientID, $0) }
        try journal.write("\(removed(credential)), \(counted(outcome, revoked: revoked))", on: connection)
    }

    /// Moves a credential to the pending revocations, where it names no user and is retried.
    func handOver(
        _ credential: AppleCredential,
        _ token: Secret<String>,
        because situation: Situation
    ) async throws {
        let isHandedOver = try await services.pool.withConnection { connection -> Bool in
            let pending = PendingRevocation.keeping(
                token,
                clientID: credential.clientID,
                teamID: credential.teamID,
                subject: credential.subject,
                request: record.id,
                from: "removed",
                with: services
            )
            return try journal.write(
                "\(removed(credential)), pending as (\(pending)), \(counted(.pending))",
                asking: "exists (select from removed)",
                on: connection
            )
        }
        guard isHandedOver else { return }
        services.logger(for: record.id).warning(
            "Apple did not revoke a credential: the deletion continues, and the revocation is tried again separately",
            metadata: [
                "client_id": "\(credential.clientID)", "situation": "\(situation.code.rawValue)",
                "reason": "\(situation.detail ?? "")",
            ]
        )
    }

    /// Removes the credential that was read, but not one that has replaced it since.
    private func removed(_ credential: AppleCredential) -> Statement {
        """
        removed as (
            delete from accountctl.apple_credentials
            where id = \(credential.id)
              and sealed_token = \(credential.sealedToken)
              and exists (select from held)
            returning id
        )
        """
    }

    /// Adds the outcome to the request's own row, so that a crash between two credentials loses no count.
    private func counted(_ outcome: StepOutcome, revoked: (clientID: String, at: Date)? = nil) -> Statement {
        let (clientID, moment) = (revoked?.clientID, revoked?.at)
        return """
            request as (
                update accountctl.deletion_requests
                set apple_counts = \(AppleReckoning.oneMore(outcome)),
                    apple_revoked_at = greatest(apple_revoked_at, \(moment)::timestamptz),
                    apple_revoked = case
                        when \(clientID)::text is null then apple_revoked
                        else apple_revoked || jsonb_build_object(
                            \(clientID)::text,
                            greatest((apple_revoked ->> \(clientID)::text)::timestamptz, \(moment)::timestamptz)
                        )
                    end
                where id = \(record.id) and exists (select from removed)
            )
            """
    }
}
