package import Logging
package import Postgres
import Synchronization

/// Notifies workers of other processes of new jobs, with few notifications, each sent after the commits it reports or
/// with one of them.
///
/// `NOTIFY` takes a cluster-wide lock at commit; sent with each job, it would limit all enqueueing to one flush after
/// another. Run ``run(in:queue:logger:)`` beside whatever enqueues. While it does not run, nothing is kept for later,
/// and callers send every notification themselves.
package final class JobWaker: Sendable {
    private struct State {
        var isRunning = false
        var pace: WakePace
    }

    private let state: Mutex<State>
    private let signal = Signal()
    /// A hash of a set of queues that are all pending; 0 for none.
    ///
    /// Written under the lock of ``state``, but read without it: otherwise dozens of enqueueing threads would pass that
    /// lock on one by one, each being woken for it.
    private let pendingMark = Atomic<Int>(0)
    /// How many signals were kept for later since the last notification.
    private let kept = Atomic<Int>(0)

    /// Creates a waker that sends at most once per `interval`, the first time at once, and once per eight intervals
    /// while jobs arrive in a stream.
    package init(interval: Duration = .milliseconds(2)) {
        state = Mutex(State(pace: WakePace(interval: interval)))
    }

    /// Whether ``run(in:queue:logger:)`` is running and sends what is kept.
    var isRunning: Bool { state.withLock(\.isRunning) }

    /// Takes queues with new jobs, and returns those that the caller has to notify of now; the others are notified of
    /// soon.
    func signal(_ queues: Set<String>) -> Set<String> {
        guard !queues.isEmpty else { return [] }
        let mark = Self.mark(of: queues)
        // Queues still pending now are sent after this, and so after the commit that the caller reports.
        guard pendingMark.load(ordering: .sequentiallyConsistent) != mark else {
            kept.add(1, ordering: .relaxed)
            return []
        }
        let now = ContinuousClock.now
        let (due, isFirst) = state.withLock { state -> (Set<String>, Bool) in
            guard state.isRunning else { return (queues, false) }
            let had = !state.pace.pending.isEmpty
            let due = state.pace.signal(queues, now: now)
            guard due.isEmpty else { return (due, false) }
            kept.add(1, ordering: .relaxed)
            pendingMark.store(mark, ordering: .sequentiallyConsistent)
            return ([], !had)
        }
        if isFirst { signal.set() }
        return due
    }

    /// Whether the caller, who is about to add a job, has to notify in the same transaction.
    ///
    /// Only one caller at a time, until ``endTurn()``, and one per interval: the lock of all notifications is held
    /// while that commit is flushed.
    func takeTurn() -> Bool {
        guard pendingMark.load(ordering: .sequentiallyConsistent) == 0 else { return false }
        return state.withLock { $0.isRunning && $0.pace.takeTurn(now: .now) }
    }

    /// Ends the turn, after the transaction has committed or failed.
    func endTurn() {
        state.withLock { $0.pace.endTurn() }
    }

    /// Keeps queues for later that a caller could not notify of.
    func keep(_ queues: Set<String>) {
        let isKept = state.withLock { state in
            if state.isRunning { state.pace.keep(queues) }
            return state.isRunning
        }
        if isKept { signal.set() }
    }

    /// Sends notifications until the task is cancelled.
    ///
    /// After a failure, the workers' polling finds the jobs.
    package func run(in pool: Pool, queue: JobQueue, logger: Logger) async {
        state.withLock { $0.isRunning = true }
        defer { _ = take(isLast: true) }
        while !Task.isCancelled {
            await signal.wait()
            try? await Task.sleep(for: state.withLock { $0.pace.wait(now: .now) })
            let queues = take()
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

    /// Takes the queues to notify of now; later signals count anew.
    private func take(isLast: Bool = false) -> Set<String> {
        state.withLock { state in
            state.isRunning = !isLast
            pendingMark.store(0, ordering: .sequentiallyConsistent)
            return state.pace.take(after: kept.exchange(0, ordering: .relaxed), now: .now)
        }
    }

    /// A hash of a set of queues; two sets collide with a probability of 1 in 2^63.
    private static func mark(of queues: Set<String>) -> Int { queues.hashValue | 1 }
}
