import AccountLifecycle

extension DeletionSummary {
    /// What ends the state the request is in, in words for an operator; nil when it has ended.
    func endedBy(_ command: CommandNaming) -> String? {
        // These before whatever else it stands still for: nothing else is looked at while they last.
        if finishedAt == nil {
            if isPaused { return command("deletion resume", on: id) }
            if isHeld { return Situation(.legalHold).endedBy(command, of: id) }
        }
        if let situation { return situation.endedBy(command, of: id) }
        return switch state {
        case .requested: "a worker"
        case .grace: "the end of grace, or \(command("deletion cancel", on: id))"
        case .running: "the steps that are left"
        case .settling: "the end of the last access token and signed upload, and a last search"
        case .held, .blocked, .waitingForApple, .residue:
            "its next look, within the hour, or at once by \(command("deletion retry", on: id))"
        case .verified, .cancelled: nil
        }
    }
}
