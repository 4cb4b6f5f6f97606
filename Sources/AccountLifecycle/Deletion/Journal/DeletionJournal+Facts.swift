import Postgres

/// The findings and counts of steps.
extension DeletionJournal {
    /// The counts of a step from when it was last done.
    func counts(of step: DeletionStep, on connection: isolated Connection) throws -> [String: Int] {
        try connection.first(
            """
            select coalesce(facts -> 'counts', '{}')
            from accountctl.deletion_steps
            where request_id = \(request) and step = \(step.rawValue)
            """,
            as: JSON<[String: Int]>.self
        )?.value ?? [:]
    }

    /// Adds to the counts of a step from when it was last done.
    func add(_ counts: [String: Int], to step: DeletionStep, on connection: isolated Connection) throws {
        let sums = try self.counts(of: step, on: connection).merging(counts, uniquingKeysWith: +)
        try write(
            """
            step as (
                update accountctl.deletion_steps
                set facts = coalesce(facts, '{}') || jsonb_build_object('counts', (\(JSON(sums)))::jsonb)
                where request_id = \(request) and step = \(step.rawValue) and exists (select from held)
            )
            """,
            on: connection
        )
    }

    /// Whether the preflight left something untried.
    func isUntried(on connection: isolated Connection) throws -> Bool {
        try connection.one(
            """
            select exists (
                select
                from accountctl.deletion_steps
                where request_id = \(request)
                  and step = \(DeletionStep.preflight.rawValue)
                  and facts -> 'untried' is not null
            )
            """,
            as: Bool.self
        )
    }

    /// Records that what the preflight left untried has been tried since.
    func recordTrial(on connection: isolated Connection) throws {
        try write(
            """
            step as (
                update accountctl.deletion_steps
                set facts = facts - 'untried'
                where request_id = \(request)
                  and step = \(DeletionStep.preflight.rawValue)
                  and exists (select from held)
            )
            """,
            on: connection
        )
    }
}
