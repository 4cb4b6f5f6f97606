import Postgres

extension DeletionBrakes {
    /// A step began that cannot be undone: nobody cancels the request `r` any more, and no brake has it let its account
    /// go.
    static let isBegunForGood: Statement = """
        exists (
            select
            from accountctl.deletion_steps as s
            where s.request_id = r.id and \(isStepBegunForGood)
        )
        """

    /// The step `s` of the request `r` began, and cannot be undone.
    ///
    /// The step at Apple may still be taken back until it commits itself, which it does before Apple is asked.
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

    /// A try of the request `r` came as far as Apple, or gave a credential up.
    ///
    /// Credentials that were dealt with are counted, by whatever release, with Apple or without; only workers of an
    /// earlier one keep no facts of what they ask Apple in vain.
    static let hasDealtWithCredentials: Statement = "(r.apple_failures > 0 or r.apple_counts <> '{}')"
}
