import Synchronization

/// Delivers replies to waiting requests, whichever of the two comes first.
///
/// The replying side must ensure that a request gets exactly one reply each time it waits.
final class ReplyDesk<Request: Hashable & Sendable, Reply: Sendable>: Sendable {
    private struct State {
        var waiting: [Request: CheckedContinuation<Reply, Never>] = [:]
        /// Replies that came before the request began to wait for them.
        var early: [Request: Reply] = [:]
    }

    private let state = Mutex(State())

    /// Waits for the reply to a request.
    func reply(to request: Request) async -> Reply {
        await withCheckedContinuation { continuation in
            let early = state.withLock { state in
                if let early = state.early.removeValue(forKey: request) { return Optional.some(early) }
                state.waiting[request] = continuation
                return nil
            }
            if let early { continuation.resume(returning: early) }
        }
    }

    /// Delivers a reply to a request, whether it waits already or not.
    func deliver(_ reply: Reply, to request: Request) {
        let waiting = state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: request)
            if waiting == nil { state.early[request] = reply }
            return waiting
        }
        waiting?.resume(returning: reply)
    }
}
