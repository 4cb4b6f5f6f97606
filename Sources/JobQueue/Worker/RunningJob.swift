import Synchronization

/// A job that this process runs: the state shared by its handler and its worker.
final class RunningJob: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var stop: StopReason?
        var stoppedAt: ContinuousClock.Instant?
    }

    let job: ClaimedJob
    let startedAt: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant
    private let state = Mutex(State())

    init(job: ClaimedJob, startedAt: ContinuousClock.Instant, timeout: Duration) {
        self.job = job
        self.startedAt = startedAt
        deadline = startedAt.advanced(by: timeout)
    }

    /// Why the handler was told to stop, if it was.
    var stopReason: StopReason? { state.withLock { $0.stop } }

    /// When the handler was first told to stop.
    var stoppedAt: ContinuousClock.Instant? { state.withLock { $0.stoppedAt } }

    /// Runs `body` in a task of its own, so that this one job can be cancelled.
    ///
    /// Not a child task: a child of a group cannot be cancelled alone, and one group per job would double the cost of
    /// small jobs. The worker counts its jobs and does not return before the last of them ends, or before it has
    /// reported those it gave up.
    func start(_ body: @escaping @Sendable () async -> Void) {
        let task = Task(name: "job") { await body() }
        let isStopped = state.withLock { state in
            state.task = task
            return state.stop != nil
        }
        // It was told to stop before the task existed.
        if isStopped { task.cancel() }
    }

    /// Tells the handler to stop.
    ///
    /// A lost lease overrides an earlier reason, because then nothing may be written.
    func stop(_ reason: StopReason) {
        let task = state.withLock { state in
            if state.stop == nil || reason == .leaseLost { state.stop = reason }
            if state.stoppedAt == nil { state.stoppedAt = .now }
            return state.task
        }
        task?.cancel()
    }
}
