/// How a step ends that finds something in its way.
extension DeletionRun {
    /// Where a try met what refuses; a legal hold that was placed since the step began is told as any other.
    func refused(_ blocker: Blocker) -> StepResult {
        guard blocker == .hold else { return refused(Situation(blocker.code, blockers: [blocker])) }
        return .stopped(.held, Situation(.legalHold), lookAgainAfter: DeletionMachine.lookAgainAfter)
    }

    /// Where it was looked for.
    ///
    /// What is known of the catalog may be what is wrong, and is read anew: not for what nobody decided, which may stop
    /// very many.
    func refused(_ situation: Situation) -> StepResult {
        if situation.blockers != nil { services.catalogs.forget() }
        return .stopped(.blocked, situation, lookAgainAfter: DeletionMachine.lookAgainAfter)
    }
}
