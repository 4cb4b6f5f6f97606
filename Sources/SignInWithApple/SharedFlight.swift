import Synchronization

/// One piece of work at a time, whose result everybody who asks meanwhile gets.
///
/// The work runs in a task of its own, the only unstructured one here: a waiter that is cancelled leaves at once, and
/// neither stops the work nor takes the result from the others. The work must end by itself; an HTTP call does, at its
/// deadline.
final class SharedFlight<Value: Sendable>: Sendable {
    private struct State {
        var isFlying = false
        var waiters: [AsyncStream<Value>.Continuation] = []
    }

    private let state = Mutex(State())

    /// How many wait for the work under way.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Joins the work under way, or starts it.
    ///
    /// - Throws: `CancellationError` when the waiting task is cancelled.
    func join(_ work: @escaping @Sendable () async -> Value) async throws(CancellationError) -> Value {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingOldest(1))
        start(work, for: continuation)
        for await value in stream { return value }
        throw CancellationError()
    }

    /// Starts the work unless it is under way, and waits for nothing.
    func start(_ work: @escaping @Sendable () async -> Value) {
        start(work, for: nil)
    }

    private func start(
        _ work: @escaping @Sendable () async -> Value,
        for waiter: AsyncStream<Value>.Continuation?
    ) {
        let mustStart = state.withLock { state in
            if let waiter { state.waiters.append(waiter) }
            defer { state.isFlying = true }
            return !state.isFlying
        }
        guard mustStart else { return }
        Task(name: "shared flight") {
            let value = await work()
            // Whoever joins after this line starts a new flight.
            let waiters = state.withLock { state in
                defer { state = State() }
                return state.waiters
            }
            for waiter in waiters {
                waiter.yield(value)
                waiter.finish()
            }
        }
    }
}
