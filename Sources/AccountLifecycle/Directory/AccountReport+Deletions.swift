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
            select r.id, r.state, r.origin, r.requested_at, r.run_after, r.legal_deadline, r.finished_at, e.number
            from accountctl.deletion_requests as r
            left join accountctl.deletion_receipts as e on e.request_id = r.id
            where r.user_id = \(id) or r.subject_hash = \(hash)
            order by r.requested_at desc
            limit 20
            """,
            as: (UUID, String, String, Date, Date, Date, Date?, Int64?).self
        )
        .map { row in
            Deletion(
                request: row.0,
                state: row.1,
                origin: row.2,
                requestedAt: row.3,
                runAfter: row.4,
                legalDeadline: row.5,
                finishedAt: row.6,
                receipt: row.7
            )
        }
    }

    static func jobs(_ deletions: [Deletion], on connection: isolated Connection) throws -> [Job] {
        let keys = deletions.filter { $0.finishedAt == nil }
            .map { DeletionJobs.key(of: $0.request) }
        guard !keys.isEmpty else { return [] }
        return try connection.query(
            """
            select id, kind, state::text, run_at, attempt
            from accountctl.jobs
            where unique_key = any (\(keys))
            order by id
            """,
            as: (Int64, String, String, Date, Int).self
        )
        .map { Job(id: $0.0, kind: $0.1, state: $0.2, runAt: $0.3, attempt: $0.4) }
    }

    static func holds(_ id: UUID, on connection: isolated Connection) throws -> [Hold] {
        try connection.query(
            """
            select id, reason, placed_by, placed_at
            from accountctl.holds
            where user_id = \(id) and released_at is null
            order by id
            """,
            as: (Int64, String, String, Date).self
        )
        .map { Hold(id: $0.0, reason: $0.1, placedBy: $0.2, placedAt: $0.3) }
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
            as: (Date, String, String, String?).self
        )
        .map { Operation(at: $0.0, who: $0.1, action: $0.2, reason: $0.3) }
    }
}
