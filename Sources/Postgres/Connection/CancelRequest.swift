#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
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
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let context = Unmanaged.passRetained(self)
        #if canImport(Glibc)
            var helper = pthread_t()
        #else
            var helper: pthread_t?
        #endif
        guard pthread_create(&helper, &attributes, sendCancelRequest, context.toOpaque()) == 0 else {
            context.release()
            return nil
        }
    }

    /// Whether the server has the request, or it could not be delivered; then the statement's grace decides.
    var isDone: Bool { done.withLock { $0 } }

    fileprivate func run() {
        _ = cancel.send()
        done.withLock { $0 = true }
        waker.wake()
    }
}

/// The helper's entry: file-level, since a closure made in a main-actor context would trap here.
private func sendCancelRequest(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<CancelRequest>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
