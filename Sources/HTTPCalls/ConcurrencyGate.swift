import Synchronization

/// Bounds how many calls to one host are under way.
package final class ConcurrencyGate: Sendable {
    private struct State {
        var slots: SlotQueue
        var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter capacity: How many slots there are, at least one.
    package init(capacity: Int) {
        state = Mutex(State(slots: SlotQueue(capacity: capacity)))
    }

    /// Takes a slot, waiting until `deadline` at most; whoever gets true must call ``release()``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits; no slot is held then.
    func acquire(until deadline: ContinuousClock.Instant) async throws(CancellationError) -> Bool {
        if Task.isCancelled { throw CancellationError() }
        if state.withLock({ $0.slots.takeNow() }) { return true }
        let granted = await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.standInLine() }
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            // Both may end at the same instant: a slot that was granted is never dropped.
            let second = await group.next() ?? false
            return first || second
        }
        if Task.isCancelled {
            if granted { release() }
            throw CancellationError()
        }
        return granted
    }

    /// Holds a slot for the time of `body`, after waiting for it as long as it takes, first come, first served.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the task is cancelled while it waits, and `body` is not
    ///   called.
    package func withSlot<Result>(_ body: () async throws -> Result) async throws -> Result {
        try Task.checkCancellation()
        if !state.withLock({ $0.slots.takeNow() }) {
            guard await standInLine() else { throw CancellationError() }
        }
        defer { release() }
        try Task.checkCancellation()
        return try await body()
    }

    /// Gives a slot back and wakes who is next.
    func release() {
        let next = state.withLock { state in
            state.slots.release().flatMap { state.continuations.removeValue(forKey: $0) }
        }
        next?.resume(returning: true)
    }

    /// How many stand in line, for tests.
    var waitingCount: Int { state.withLock { $0.continuations.count } }

    private func standInLine() async -> Bool {
        let ticket = state.withLock { $0.slots.makeTicket() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // The handler below may run before this line: then nobody would ever resume the continuation.
                    if Task.isCancelled { return false }
                    if state.slots.enqueue(ticket) { return true }
                    state.continuations[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let left = state.withLock { state in
                state.slots.leave(ticket) ? state.continuations.removeValue(forKey: ticket) : nil
            }
            left?.resume(returning: false)
        }
    }
}
