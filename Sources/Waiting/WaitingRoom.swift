import Synchronization

/// Tasks that wait for replies, and the state that decides who gets which: a value, under one lock with them.
///
/// Each task is answered once: by what the state decides, or by its leaving when it is cancelled, whichever comes
/// first. Both happen under the lock, so that what is given to a task, and what the state believes it has, are the same.
/// Tasks are resumed after the lock.
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

    /// Reads or changes the state where nobody is answered by it.
    package func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        contents.withLock { body(&$0.state) }
    }

    /// Changes the state and answers whom that answers; a reply to a task that has left is dropped.
    package func answer(_ change: (inout State) -> Replies) {
        resume(contents.withLock { $0.callUp(change(&$0.state)) })
    }

    /// Waits for a reply.
    ///
    /// - Parameters:
    ///   - enter: Has the state know of the ticket; may answer it, or others, at once.
    ///   - leave: Has the state forget the ticket of a cancelled task, and says what that task hears; called for one
    ///     that never entered, too.
    /// - Returns: What the task was answered, or what `leave` said.
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
                    // The handler below may have run before there was anybody to resume.
                    if Task.isCancelled { return contents.callUp([(ticket, leave(&contents.state, ticket))]) }
                    return contents.callUp(enter(&contents.state, ticket))
                }
                resume(answered)
            }
        } onCancel: {
            let answered = contents.withLock { contents -> [(Continuation, Reply)] in
                // Not there yet, or answered already and on its way.
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
