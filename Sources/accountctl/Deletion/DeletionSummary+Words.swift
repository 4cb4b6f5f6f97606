import AccountLifecycle

extension DeletionSummary {
    /// What ends the state the request is in, in words for an operator; nil when it has ended.
    var endedBy: String? {
        if let situation { return situation.endedBy }
        return switch state {
        case .requested: "a worker"
        case .grace: "the end of grace; before it the person can cancel, and so can deletion cancel"
        case .running: "the steps that are left"
        case .settling: "the end of the last access token and signed upload, and a last search"
        case .held, .blocked, .waitingForApple, .residue: "deletion retry"
        case .verified, .cancelled: nil
        }
    }
}
