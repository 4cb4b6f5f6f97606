/// The results of a step that something blocks.
extension DeletionRun {
    /// The result for a blocker that an actual delete met; a legal hold that was placed since the step began is
    /// reported like any other.
    func blocked(by blocker: Blocker) -> StepResult {
        guard blocker == .hold else { return blocked(by: Situation(blocker.code, blockers: [blocker])) }
        return .stopped(.held, Situation(.legalHold))
    }

    /// The result for a situation that was found by looking for it.
    ///
    /// If it has blockers, the cached catalog may be what is wrong, and is read again; not for undecided buckets and
    /// files, which may stop very many requests.
    func blocked(by situation: Situation) -> StepResult {
        if situation.blockers != nil { services.catalogs.forget() }
        return .stopped(.blocked, situation)
    }
}
