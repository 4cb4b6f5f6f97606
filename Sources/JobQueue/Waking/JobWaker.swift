package import Logging
package import Postgres
import Synchronization

/// Tells workers of other processes that work came, by few notifications sent after the commits they tell of, or with
/// them.
///
/// `NOTIFY` takes a lock for the whole cluster at commit; sent with each job it would hold all enqueuing to the pace of
/// one flush after another. Run ``run(in:queue:logger:)`` next to whatever enqueues. Without it, and beyond its life,
/// nothing is kept for later and callers notify of everything themselves.
package final class JobWaker: Sendable {
    private struct State {
        var isRunning = false
        var pace: WakePace
    }

    private let state: Mutex<State>
    private let signal = Signal()
    /// The mark of a set of queues that are all pending; 0 for none.
    ///
    /// Changed under the lock of ``state``, read without: dozens of threads that enqueue would be handed that lock one
    /// after the other, each woken for it.
    private let pendingMark = Atomic<Int>(0)
    /// How many signals were kept for later since the last were sent.
    private let kept = Atomic<Int>(0)

    /// Sends at most once per `interval`, the first at once; once per eight intervals while jobs come in a stream.
    package init(interval: Duration = .milliseconds(2)) {
        state = Mutex(State(pace: WakePace(interval: interval)))
    }

    /// Whether ``run(in:queue:logger:)`` sends what is kept.
    var isRunning: Bool { state.withLock(\.isRunning) }

    /// The queues that the caller is to notify of now; the others are notified of soon.
    func signal(_ queues: Set<String>) -> Set<String> {
        guard !queues.isEmpty else { return [] }
        let mark = Self.mark(of: queues)
        // What is still pending now is sent after this, and so after the commit that the caller tells of.
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

    /// Whether the caller, who is about to add a job, is to notify of it in the same transaction.
    ///
    /// One at a time, until ``endTurn()``, and per interval: the lock of all notifications is held while that commit is
    /// flushed.
    func takeTurn() -> Bool {
        guard pendingMark.load(ordering: .sequentiallyConsistent) == 0 else { return false }
        return state.withLock { $0.isRunning && $0.pace.takeTurn(now: .now) }
    }

    /// The transaction is over, whatever became of it.
    func endTurn() {
        state.withLock { $0.pace.endTurn() }
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

    /// What is now to be sent; whoever signals from here on is not taken for told.
    private func take(isLast: Bool = false) -> Set<String> {
        state.withLock { state in
            state.isRunning = !isLast
            pendingMark.store(0, ordering: .sequentiallyConsistent)
            return state.pace.take(after: kept.exchange(0, ordering: .relaxed), now: .now)
        }
    }

    /// A number that no two sets of queues share, but for one pair in 2^63.
    private static func mark(of queues: Set<String>) -> Int { queues.hashValue | 1 }
}
