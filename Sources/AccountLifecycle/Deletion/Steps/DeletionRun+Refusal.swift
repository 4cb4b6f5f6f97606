/// How a step ends that finds something in its way.
extension DeletionRun {
    /// Where a try met what refuses; a legal hold that was placed since the step began is told as any other.
    func refused(_ blocker: Blocker) -> StepResult {
        guard blocker == .hold else { return refused(Situation(blocker.code, blockers: [blocker])) }
        return .stopped(.held, Situation(.legalHold), lookAgainAfter: DeletionMachine.lookAgainAfter)
    }

    /// Where it was looked for; what is known of the catalog may be what is wrong, and is read anew.
    func refused(_ situation: Situation) -> StepResult {
        services.catalogs.forget()
        return .stopped(.blocked, situation, lookAgainAfter: DeletionMachine.lookAgainAfter)
    }
}
