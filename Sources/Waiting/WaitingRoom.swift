import Synchronization

/// Tasks that wait for replies, and the state that decides who gets which reply, under one lock.
///
/// Each task is answered once: by the state's decision, or by leaving when it is cancelled, whichever comes first. Both
/// happen under the lock, so that the reply a task gets always agrees with what the state recorded. Tasks are resumed
/// after the lock is released.
package final class WaitingRoom<State: Sendable, Reply: Sendable>: Sendable {
    /// Replies, each with the ticket of the task that it is for.
    package typealias Replies = [(ticket: Int, reply: Reply)]

    private typealias Continuation = CheckedContinuation<Reply, Never>

    private struct Contents {
        var state: State
        var lastTicket = 0
        var waiting: [Int: Continuation] = [:]

        mutating func callUp(_ replies: Replies) -> [(Continuation, Reply)] {
            replies.compactMap { ticket, reply in waiting.removeValue(forKey: ticket).map { ($0, reply) } }
        }
    }

    private let contents: Mutex<Contents>

    /// How many tasks wait.
    package var waitingCount: Int { contents.withLock { $0.waiting.count } }

    package init(_ state: State) {
        contents = Mutex(Contents(state: state))
    }

    /// Reads or changes the state without answering a waiting task.
    package func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        contents.withLock { body(&$0.state) }
    }

    /// Changes the state and resumes the tasks that this answers; a reply to a task that has left is dropped.
    package func answer(_ change: (inout State) -> Replies) {
        resume(contents.withLock { $0.callUp(change(&$0.state)) })
    }

    /// Waits for a reply.
    ///
    /// - Parameters:
    ///   - enter: Records the ticket in the state; may answer it, or others, at once.
    ///   - leave: Removes the ticket of a cancelled task from the state, and returns that task's reply; also called for
    ///     a ticket that never entered.
    /// - Returns: The task's reply, or the result of `leave`.
    package func wait(
        entering enter: (inout State, Int) -> Replies,
        leaving leave: @Sendable (inout State, Int) -> Reply
    ) async -> Reply {
        let ticket = contents.withLock { contents in
            contents.lastTicket += 1
            return contents.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answered = contents.withLock { contents in
                    contents.waiting[ticket] = continuation
                    // The handler below may have run before there was a continuation to resume.
                    if Task.isCancelled { return contents.callUp([(ticket, leave(&contents.state, ticket))]) }
                    return contents.callUp(enter(&contents.state, ticket))
                }
                resume(answered)
            }
        } onCancel: {
            let answered = contents.withLock { contents -> [(Continuation, Reply)] in
                // Not registered yet, or already answered and about to resume.
                guard contents.waiting[ticket] != nil else { return [] }
                return contents.callUp([(ticket, leave(&contents.state, ticket))])
            }
            resume(answered)
        }
    }

    private func resume(_ answered: [(Continuation, Reply)]) {
        for (continuation, reply) in answered { continuation.resume(returning: reply) }
    }
}
