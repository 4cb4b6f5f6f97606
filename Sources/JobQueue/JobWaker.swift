package import Logging
package import Postgres
import Synchronization

/// Tells workers of other processes that work came, by few notifications sent after the commits they tell of.
///
/// `NOTIFY` takes a lock for the whole cluster at commit; sent with each job it would hold all enqueuing to the pace of one
/// flush after another. Run ``run(in:)`` next to whatever enqueues. Without it, and beyond its life, ``signal(_:)`` answers
/// false and callers notify themselves.
package final class JobWaker: Sendable {
    private struct State {
        var isRunning = false
        var pending: Set<String> = []
    }

    private let state = Mutex(State())
    private let signal = Signal()
    private let interval: Duration

    /// Sends for each queue at most once per `interval`, the first at once.
    package init(interval: Duration = .milliseconds(2)) {
        self.interval = interval
    }

    /// Remembers to notify of these queues.
    ///
    /// False when nobody would send it.
    package func signal(_ queues: Set<String>) -> Bool {
        let accepted = state.withLock { state in
            guard state.isRunning else { return false }
            state.pending.formUnion(queues)
            return true
        }
        if accepted { signal.set() }
        return accepted
    }

    /// Sends until the task is cancelled.
    ///
    /// A failure is left to the workers' polling, which is the guarantee.
    package func run(in pool: Pool, queue: JobQueue, logger: Logger) async {
        state.withLock { $0.isRunning = true }
        defer { state.withLock { $0.isRunning = false } }
        while !Task.isCancelled {
            await signal.wait()
            let queues = state.withLock { state in
                let pending = state.pending
                state.pending = []
                return pending
            }
            guard !queues.isEmpty else { continue }
            do {
                try await pool.withConnection { connection in
                    try queue.notifyUnflushed(queues, on: connection)
                }
            } catch {
                logger.debug("a notification of new jobs was not sent", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: interval)
        }
    }
}
