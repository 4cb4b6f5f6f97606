import EventThread
import LibPQ
import Synchronization

/// One cancel request on its way, on a thread of its own since `PQcancel` blocks for as long as the network likes.
final class CancelRequest: Sendable {
    private let cancel: CancelHandle
    private let waker: EventThread
    private let done = Mutex(false)

    /// Sends the request and wakes `thread` once it has arrived; nil when there is no thread to send it on.
    init?(_ cancel: CancelHandle, waking thread: EventThread) {
        self.cancel = cancel
        waker = thread
        do {
            try startDetachedThread { self.run() }
        } catch {
            return nil
        }
    }

    /// Whether the server has the request, or it could not be delivered; then the statement's grace decides.
    var isDone: Bool { done.withLock { $0 } }

    private func run() {
        _ = cancel.send()
        done.withLock { $0 = true }
        waker.wake()
    }
}
