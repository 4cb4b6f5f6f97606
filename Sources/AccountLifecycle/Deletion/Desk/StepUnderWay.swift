import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A step that cannot be interrupted and is in progress.
package struct StepUnderWay: Sendable, Hashable {
    package let request: UUID
    package let step: DeletionStep

    /// All such steps.
    ///
    /// A step in progress has the request's row locked; if its worker died, only the record says that it was begun.
    static func all(on connection: isolated Connection) throws -> [StepUnderWay] {
        try connection.query(
            """
            with begun as materialized (
                select r.id, s.step
                from accountctl.deletion_requests as r
                join accountctl.deletion_steps as s on s.request_id = r.id
                where r.finished_at is null
                  and s.started_at is not null
                  and s.finished_at is null
                  and s.step in (\(DeletionStep.deleteRows.rawValue), \(DeletionStep.scrubAuth.rawValue))
            ),
            free as materialized (
                select id
                from accountctl.deletion_requests
                where id in (select id from begun)
                for no key update skip locked
            )
            select id, step
            from begun
            where id not in (select id from free)
            order by id
            """,
            as: (UUID, DeletionStep).self
        ).map { StepUnderWay(request: $0, step: $1) }
    }

    /// Why an act on a request, or on its account, had to wait for too long.
    static func refusal(of id: UUID, on connection: isolated Connection) throws -> DeletionRefusal {
        let row = try connection.first(
            """
            select r.id, s.step
            from accountctl.deletion_requests as r
            join accountctl.deletion_steps as s on s.request_id = r.id
            where (r.id = \(id) or r.user_id = \(id))
              and r.finished_at is null
              and s.started_at is not null
              and s.finished_at is null
            order by s.started_at desc
            limit 1
            """,
            as: (UUID, DeletionStep).self
        )
        return row.map { .underWay(step: $1, request: $0) } ?? .busy
    }
}
