import JobQueue
import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Housekeeping for deletions, once a minute by one worker.
package enum DeletionUpkeep {
    /// For how many requests identifiers are collected at a time.
    private static let batch = 500

    /// Does everything that is due.
    package static func run(with services: DeletionServices) async throws {
        let (called, forgotten) = try await services.pool.withTransaction { connection in
            try CodeExchange.expire(on: connection)
            try giveJobs(on: connection)
            return (try services.ceiling.callNext(on: connection), try forgetVanished(services, on: connection))
        }
        if called > 0 { try await JobQueue().wake([DeletionJobs.delete.queue], in: services.pool) }
        try await collectIdentifiers(services)
        try await services.pool.withTransaction { try DeletionPruning.run(on: $0) }
        if forgotten > 0 {
            services.log.info(
                "removed the user ids of accounts that no longer exist from cancelled requests",
                metadata: ["requests": "\(forgotten)"]
            )
        }
    }

    /// Gives a job to each open request without a live one; the unique key limits it to one.
    private static func giveJobs(on connection: isolated Connection) throws {
        let without = try connection.query(
            """
            select r.id, case when r.run_after > now() then r.run_after end
            from accountctl.deletion_requests as r
            where r.finished_at is null
              and not \(JobQueue().hasJob(key: DeletionJobs.key(of: "r.id")))
            """,
            as: (UUID, Date?).self
        )
        guard !without.isEmpty else { return }
        try JobQueue().enqueueAndForget(without.map { try DeletionJobs.job(of: $0, runAt: $1) }, on: connection)
        try JobQueue().wakeAtCommit([DeletionJobs.delete.queue], on: connection)
    }

    /// Collects the identifiers of the accounts of new requests, long before their preflight does so again: if an
    /// account is deleted by other means during grace, the identifiers to search for are lost with it.
    private static func collectIdentifiers(_ services: DeletionServices) async throws {
        let new = try await services.pool.withConnection { connection in
            try connection.query(
                """
                select r.id, r.user_id
                from accountctl.deletion_requests as r
                where r.finished_at is null
                  and r.locked_out_at is null
                  and r.sealed_identifiers is null
                  and exists (select from auth.users as u where u.id = r.user_id)
                  and not \(DeletionBrakes.isOtherAccount)
                order by r.requested_at
                limit \(batch)
                """,
                as: (UUID, UUID).self
            )
        }
        for (request, user) in new {
            try Task.checkCancellation()
            try await services.pool.withConnection { connection in
                guard let identifiers = try IdentifierCollection.read(of: user, on: connection) else { return }
                let sealed = try services.vault.seal(identifiers, request: request, user: user)
                try connection.execute(
                    "\(IdentifierCollection.storing(sealed, with: request)) and sealed_identifiers is null"
                )
            }
        }
    }

    /// Replaces the user id by its hash in cancelled requests whose account was deleted by other means since.
    private static func forgetVanished(_ services: DeletionServices, on connection: isolated Connection) throws -> Int {
        let vanished = try connection.query(
            """
            select r.id, r.user_id
            from accountctl.deletion_requests as r
            where r.user_id is not null
              and r.state = 'cancelled'
              and not exists (select from auth.users as u where u.id = r.user_id)
            limit 1000
            """,
            as: (UUID, UUID).self
        )
        for (request, user) in vanished {
            let subject = services.vault.subject(user)
            try connection.execute(
                """
                update accountctl.deletion_requests
                set user_id = null,
                    subject_hash = \(subject.bytes),
                    subject_key_id = \(subject.keyID),
                    cancelled_by = null,
                    account_created_at = null
                where id = \(request)
                """
            )
        }
        return vanished.count
    }
}
