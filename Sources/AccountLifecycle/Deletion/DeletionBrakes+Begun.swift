import Postgres

extension DeletionBrakes {
    /// A step began that cannot be undone: nobody cancels the request `r` any more, and no brake has it let its account
    /// go.
    ///
    /// The step at Apple may still be taken back until it commits itself, which it does before Apple is asked.
    static let isBegunForGood: Statement = """
        exists (
            select
            from accountctl.deletion_steps as s
            where s.request_id = r.id
              and s.step = any(\(DeletionStep.afterLockOut.map(\.rawValue)))
              and s.runs > 0
              and (s.step <> \(DeletionStep.revokeApple.rawValue) or s.facts is not null or s.finished_at is not null)
        )
        """
}
