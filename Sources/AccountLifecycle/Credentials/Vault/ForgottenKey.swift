package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Gives up a sealing key that is lost for good, and with it everything that only this key could open.
package enum ForgottenKey {
    /// What was lost with the key.
    package struct Losses: Sendable, Hashable, Codable {
        /// Credentials of existing accounts: their grants stay valid at Apple, and an erasure will report that they
        /// were not revoked.
        package var credentials = 0
        /// Credentials of erased accounts that were still to be revoked: given up.
        package var pendingRevocations = 0
        /// Open deletion requests whose identifiers cannot be read: they search only for the user id and for the
        /// identifiers that the account still has.
        package var deletionRequests = 0

        /// Whether nothing was sealed with it.
        var isEmpty: Bool { credentials + pendingRevocations + deletionRequests == 0 }
    }

    /// Gives up everything sealed with a key, in one transaction with the entry in the operators' log.
    ///
    /// Deletions that wait for the key run again. The key's name can be used again afterwards.
    ///
    /// - Throws: ``PostgresError``.
    package static func forget(
        _ key: String,
        as actor: Operator,
        reason: String?,
        on connection: isolated Connection
    ) async throws -> Losses {
        try await connection.transaction { connection in
            try lockJobs(concernedBy: key, on: connection)
            var losses = Losses()
            losses.credentials = try giveUpCredentials(key, on: connection)
            losses.pendingRevocations = try giveUpRevocations(key, on: connection)
            losses.deletionRequests = try goOnWithoutIdentifiers(key, on: connection)
            try connection.execute("delete from accountctl.sealing_canaries where key_id = \(key)")
            let facts = Facts(key: key, losses: losses)
            try actor.log("apple.forget_key", on: nil, reason: reason, facts: facts, connection)
            return losses
        }
    }

    private struct Facts: Codable, Sendable {
        let key: String
        let losses: Losses
    }

    /// Locks the jobs of the open requests that lose something with the key, or wait for it.
    ///
    /// This comes before any other lock, in the order of a worker, which takes its job first and the request or a
    /// credential after it.
    private static func lockJobs(concernedBy key: String, on connection: isolated Connection) throws {
        let concerned = try connection.query(
            """
            select r.id
            from accountctl.deletion_requests as r
            where r.finished_at is null
              and (
                  r.sealing_key_id = \(key)
                  or r.situation ->> 'code' = \(Situation.Code.sealingKeyMissing.rawValue) and r.situation ->> 'subject' = \(key)
                  or exists (
                      select
                      from accountctl.pending_revocations as p
                      where p.request_id = r.id and p.sealing_key_id = \(key)
                  )
                  or exists (
                      select
                      from accountctl.apple_credentials as c
                      where c.user_id = r.user_id and c.sealing_key_id = \(key)
                  )
              )
            """,
            as: UUID.self,
            deadline: .forAllAccounts
        )
        try DeletionJobs.lock(concerned, on: connection)
    }

    private static func giveUpCredentials(_ key: String, on connection: isolated Connection) throws -> Int {
        try connection.execute(
            """
            with gone as (
                delete from accountctl.apple_credentials
                where sealing_key_id = \(key)
                returning user_id, client_id
            )
            insert into accountctl.lost_grants (user_id, client_id, lost_at)
            select user_id, client_id, clock_timestamp()
            from gone
            on conflict (user_id, client_id) do update
            set lost_at = greatest(lost_grants.lost_at, excluded.lost_at)
            """,
            deadline: .forAllAccounts
        )
    }

    private static func giveUpRevocations(_ key: String, on connection: isolated Connection) throws -> Int {
        let requests = try connection.query(
            """
            update accountctl.pending_revocations
            set state = 'given_up',
                last_outcome = \(Situation.Code.sealingKeyMissing.rawValue),
                settled_at = clock_timestamp(),
                sealed_token = null,
                sealed_subject = null,
                sealing_key_id = null
            where sealing_key_id = \(key)
            returning request_id
            """,
            as: UUID?.self,
            deadline: .forAllAccounts
        )
        let concerned = requests.compactMap(\.self)
        try AppleReckoning.settlePending(of: concerned, as: .notRevoked, on: connection)
        try PendingRevocation.tellOutcome(of: concerned, on: connection)
        return requests.count
    }

    private static func goOnWithoutIdentifiers(_ key: String, on connection: isolated Connection) throws -> Int {
        let requests = try connection.query(
            """
            update accountctl.deletion_requests
            set without_identifiers = true,
                sealed_identifiers = null,
                sealing_key_id = null,
                failures = 0
            where sealing_key_id = \(key)
              and finished_at is null
            returning id
            """,
            as: UUID.self,
            deadline: .forAllAccounts
        )
        for request in requests { try DeletionJobs.wake(request, on: connection) }
        // Requests that are stopped because something they have to revoke was sealed with the key.
        let waiting = try connection.query(
            """
            select id
            from accountctl.deletion_requests
            where finished_at is null
              and situation ->> 'code' = \(Situation.Code.sealingKeyMissing.rawValue)
              and situation ->> 'subject' = \(key)
              and id <> all(\(requests))
            """,
            as: UUID.self
        )
        for request in waiting { try DeletionJobs.wake(request, on: connection) }
        return requests.count
    }
}
