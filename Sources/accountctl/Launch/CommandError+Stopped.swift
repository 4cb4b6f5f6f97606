extension CommandError {
    /// The error of a run over a list that an obstacle stopped early, with how much is left and what to do; a
    /// cancellation is returned unchanged.
    static func stopped(by obstacle: any Error, left: Int, of total: Int, then next: String) -> any Error {
        if obstacle is CancellationError { return obstacle }
        let report = CommandError(obstacle)
        return CommandError(
            report.status,
            "stopped, \(left) of \(total) not done: \(report.message)",
            hint: (report.hint.map { $0 + "\n" } ?? "") + next
        )
    }
}
