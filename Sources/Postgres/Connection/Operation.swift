/// The limits of a connection's current operation, and whether it was interrupted.
struct Operation: Sendable {
    /// Why a running statement is stopped.
    enum Interruption: Sendable, Equatable {
        /// The task was cancelled.
        case cancelled
        /// The deadline passed.
        case deadline
        /// The closure that receives rows threw.
        case abandonedByCaller
    }

    /// What to do during a wait.
    enum Verdict: Sendable, Equatable {
        /// Continue to wait.
        case goOn
        /// Ask the server to stop, then read on until ``Operation/patience``.
        case interrupt(Interruption)
        /// The server did not stop in time: drop the connection.
        case abandon
    }

    /// When to stop the statement.
    var deadline: ContinuousClock.Instant?

    /// Whether cancelling the task stops it; never for COMMIT and ROLLBACK, whose outcome matters more.
    var isCancellable: Bool

    /// How long an interrupted statement may take to end.
    var grace: Duration

    /// When the connection is dropped in any case: one that is still being opened is not worth a cancel request.
    var dropAt: ContinuousClock.Instant?

    /// From this instant on, a cancellation by the server counts as our deadline: its own limit is set a little below
    /// it.
    var tooSlowFrom: ContinuousClock.Instant?

    private(set) var interruption: Interruption?

    private var patience: ContinuousClock.Instant?

    init(deadline: ContinuousClock.Instant?, isCancellable: Bool, grace: Duration) {
        self.deadline = deadline
        self.isCancellable = isCancellable
        self.grace = grace
    }

    /// When the current wait has to end for another check.
    func nextLook(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let dropAt else { return usualLook(at: now) }
        return usualLook(at: now).map { min($0, dropAt) } ?? dropAt
    }

    private func usualLook(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        if let patience { return patience }
        guard isCancellable else { return deadline }
        // The lease's cancellation handler ends the wait at once. Only a child task that is cancelled while its lease
        // continues has no handler; it is noticed by polling.
        let look = now.advanced(by: .milliseconds(500))
        guard let deadline else { return look }
        return min(look, deadline)
    }

    /// Decides what to do now.
    func verdict(at now: ContinuousClock.Instant, taskIsCancelled: Bool) -> Verdict {
        if let dropAt, now >= dropAt { return .abandon }
        if let patience { return now >= patience ? .abandon : .goOn }
        if isCancellable, taskIsCancelled { return .interrupt(.cancelled) }
        if let deadline, now >= deadline { return .interrupt(.deadline) }
        return .goOn
    }

    /// Records that the server was asked to stop.
    mutating func interrupted(_ reason: Interruption, at now: ContinuousClock.Instant) {
        interruption = interruption ?? reason
        patience = now.advanced(by: grace)
    }
}
