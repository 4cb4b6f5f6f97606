import EventThread
import LibPQ
import Synchronization

/// A cancel request under way, on a thread of its own because `PQcancel` blocks for as long as the network does.
final class CancelRequest: Sendable {
    private let cancel: CancelHandle
    private let waker: EventThread
    private let done = Mutex(false)

    /// Sends the request and wakes `thread` once it has arrived; nil if no thread can be started.
    init?(_ cancel: CancelHandle, waking thread: EventThread) {
        self.cancel = cancel
        waker = thread
        do {
            try startDetachedThread { self.run() }
        } catch {
            return nil
        }
    }

    /// Whether the request was delivered or failed; after a failure, the statement's grace period decides.
    var isDone: Bool { done.withLock { $0 } }

    private func run() {
        _ = cancel.send()
        done.withLock { $0 = true }
        waker.wake()
    }
}
