import Postgres

extension DeletionBrakes {
    /// Whether a step that cannot be undone has begun: nobody can cancel the request `r` any more, and no brake gives
    /// its account back.
    static let isBegunForGood: Statement = """
        exists (
            select
            from accountctl.deletion_steps as s
            where s.request_id = r.id and \(isStepBegunForGood)
        )
        """

    /// Whether the step `s` of the request `r` has begun and cannot be undone.
    ///
    /// The Apple step can still be withdrawn until it commits itself, which it does before Apple is asked.
    static let isStepBegunForGood: Statement = """
        (
            s.step = any(\(DeletionStep.afterLockOut.map(\.rawValue)))
            and s.runs > 0
            and (
                s.step <> \(DeletionStep.revokeApple.rawValue)
                or s.facts is not null
                or s.finished_at is not null
                or \(hasDealtWithCredentials)
            )
        )
        """

    /// Whether an attempt of the request `r` reached Apple, or gave a credential up.
    ///
    /// Every release counts the credentials that were dealt with, with Apple or without; only workers of an earlier
    /// release record no step facts when they ask Apple in vain.
    static let hasDealtWithCredentials: Statement = "(r.apple_failures > 0 or r.apple_counts <> '{}')"
}
