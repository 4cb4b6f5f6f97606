import JobQueue
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    static func deletions(_ id: UUID, _ hash: [UInt8]?, on connection: isolated Connection) throws -> [Deletion] {
        try connection.query(
            """
            select
                id, state, origin, requested_at, finished_at, situation, paused_at is not null,
                locked_out_at is not null, apple_outcome
            from accountctl.deletion_requests
            where user_id = \(id) or subject_hash = \(hash)
            order by requested_at desc
            limit 20
            """,
            as: (UUID, DeletionState, String, Date, Date?, JSON<Situation>?, Bool, Bool, StepOutcome?).self
        )
        .map { request, state, origin, requestedAt, finishedAt, situation, isPaused, isLockedOut, apple in
            Deletion(
                request: request,
                state: state,
                origin: origin,
                requestedAt: requestedAt,
                finishedAt: finishedAt,
                situation: situation?.value.standing(in: state),
                isPaused: isPaused,
                isLockedOut: isLockedOut,
                apple: apple
            )
        }
    }

    static func jobs(_ deletions: [Deletion], on connection: isolated Connection) throws -> [Job] {
        let keys = deletions.filter { $0.finishedAt == nil }
            .map { DeletionJobs.key(of: $0.request) }
        return try JobQueue().find(keys: keys, on: connection)
            .map { Job(id: $0.id, kind: $0.kind, state: $0.state, runAt: $0.runAt) }
    }

    static func operations(_ hash: [UInt8]?, on connection: isolated Connection) throws -> [Operation] {
        guard let hash else { return [] }
        return try connection.query(
            """
            select logged_at, operator, action, reason
            from accountctl.operator_log
            where subject_hash = \(hash)
            order by logged_at desc
            limit 10
            """,
            into: Operation.init
        )
    }
}
