package import Logging
package import Postgres
import Synchronization

/// Tells workers of other processes that work came, by few notifications sent after the commits they tell of.
///
/// `NOTIFY` takes a lock for the whole cluster at commit; sent with each job it would hold all enqueuing to the pace of one
/// flush after another. Run ``run(in:queue:logger:)`` next to whatever enqueues. Without it, and beyond its life, nothing is kept
/// for later and callers notify of everything themselves.
package final class JobWaker: Sendable {
    private struct State {
        var isRunning = false
        var pace: WakePace
    }

    private let state: Mutex<State>
    private let signal = Signal()

    /// Sends at most once per `interval`, the first at once; once per four intervals while jobs come in a stream.
    package init(interval: Duration = .milliseconds(2)) {
        state = Mutex(State(pace: WakePace(interval: interval)))
    }

    /// Whether ``run(in:queue:logger:)`` sends what is kept.
    var isRunning: Bool { state.withLock(\.isRunning) }

    /// The queues that the caller is to notify of now; the others are notified of soon.
    func signal(_ queues: Set<String>) -> Set<String> {
        guard !queues.isEmpty else { return [] }
        let now = ContinuousClock.now
        let (due, isFirst) = state.withLock { state -> (Set<String>, Bool) in
            guard state.isRunning else { return (queues, false) }
            let had = !state.pace.pending.isEmpty
            let due = state.pace.signal(queues, now: now)
            return (due, !had && !state.pace.pending.isEmpty)
        }
        if isFirst { signal.set() }
        return due
    }

    /// Takes back what a caller was to notify of and could not.
    func keep(_ queues: Set<String>) {
        let isKept = state.withLock { state in
            if state.isRunning { state.pace.keep(queues) }
            return state.isRunning
        }
        if isKept { signal.set() }
    }

    /// Sends until the task is cancelled.
    ///
    /// A failure is left to the workers' polling, which is the guarantee.
    package func run(in pool: Pool, queue: JobQueue, logger: Logger) async {
        state.withLock { $0.isRunning = true }
        defer {
            state.withLock { state in
                state.isRunning = false
                _ = state.pace.take(now: .now)
            }
        }
        while !Task.isCancelled {
            await signal.wait()
            try? await Task.sleep(for: state.withLock { $0.pace.wait(now: .now) })
            let queues = state.withLock { $0.pace.take(now: .now) }
            guard !queues.isEmpty else { continue }
            do {
                try await pool.withConnection { connection in
                    try queue.notifyUnflushed(queues, on: connection)
                }
            } catch {
                logger.debug("a notification of new jobs was not sent", metadata: ["error": "\(error)"])
            }
        }
    }
}
