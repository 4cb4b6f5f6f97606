import AccountLifecycle

extension DeletionSummary {
    /// What ends the request's current state, in words for an operator; nil if the request has ended.
    func endedBy(_ command: CommandNaming) -> String? {
        // A pause or a hold comes before any other cause, since nothing else is checked while it lasts.
        if finishedAt == nil {
            if isPaused { return command("deletion resume", on: id) }
            if isHeld {
                let release = user.map { ": " + command("user release", on: $0) } ?? ""
                return "releasing the hold\(release); the request then continues by itself"
            }
        }
        if let situation { return situation.endedBy(command, of: id) }
        return switch state {
        case .requested: "a worker"
        case .grace where isDue:
            "a worker: the grace period is over, see \(command("doctor")); or \(command("deletion cancel", on: id))"
        case .grace: "the end of the grace period, or \(command("deletion cancel", on: id))"
        case .running: "the steps that are left"
        case .settling where isDue:
            "a worker, for a last search: the last access token and signed upload have expired, see "
                + "\(command("doctor"))"
        case .settling: "the expiry of the last access token and signed upload, and a last search"
        case .held, .blocked, .waitingForApple, .residue:
            "its next attempt, within the hour, or at once with \(command("deletion retry", on: id))"
        case .verified, .cancelled: nil
        }
    }
}
