/// A thread that runs jobs for actors and tasks and, when there are none, waits on descriptors.
///
/// An actor whose `unownedExecutor` is such a thread may call blocking C code and wait for sockets without holding up
/// the cooperative pool: everything isolated to the actor runs here and nowhere else. As a task executor, the thread
/// also runs the nonisolated functions that an isolated body calls, and the child tasks of that body; `Task {}` does
/// not inherit it.
///
/// The thread ends when the last reference to this object is gone and the jobs queued until then have run. Keep
/// CPU-heavy work away from it: everything on a thread runs serially.
package final class EventThread: SerialExecutor, TaskExecutor {
    private let loop: EventLoop

    /// Starts a thread.
    ///
    /// - Parameter name: Shown by debuggers and `top -H`; Linux keeps 15 bytes of it.
    /// - Throws: ``EventThreadError`` if the system has no thread or descriptor left.
    package init(name: String) throws(EventThreadError) {
        loop = try EventLoop(name: name)
        try loop.start()
    }

    /// Creates an executor for the calling thread, which starts with ``run()``.
    ///
    /// - Throws: ``EventThreadError`` if the system has no descriptor left.
    package init() throws(EventThreadError) {
        loop = try EventLoop(name: nil)
    }

    /// Runs queued jobs on the calling thread, forever.
    package func run() -> Never {
        loop.run()
        preconditionFailure("ended while it was referred to")
    }

    deinit {
        loop.stop()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(UnownedJob(job), on: self)
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
        UnownedTaskExecutor(ordinary: self)
    }

    package func checkIsolated() {
        precondition(isCurrent, "expected to run on the event thread")
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { loop.isCurrent }

    /// Makes a wait on this thread return ``Readiness/woken``; otherwise has no lasting effect.
    ///
    /// Callable from any thread.
    package func wake() {
        loop.waker.signal()
    }

    /// Waits on this thread for one descriptor.
    ///
    /// Jobs that arrive meanwhile stay queued. Task cancellation does not end the wait: wake the thread from a
    /// cancellation handler and check `Task.isCancelled`.
    ///
    /// - Parameters:
    ///   - interest: The descriptor and what to wait for.
    ///   - deadline: When to give up; nil waits forever.
    /// - Returns: Why the wait ended.
    package func wait(for interest: Interest, until deadline: ContinuousClock.Instant?) -> SoleReadiness {
        loop.wait(for: interest, until: deadline)
    }

    /// Waits on this thread for the first of several descriptors.
    ///
    /// - Parameters:
    ///   - interests: The descriptors and what to wait for on each; may be empty to wait only for the deadline or a
    ///     wake-up.
    ///   - deadline: When to give up; nil waits forever.
    /// - Returns: Why the wait ended.
    package func wait(for interests: [Interest], until deadline: ContinuousClock.Instant?) -> Readiness {
        loop.wait(for: interests, until: deadline)
    }

    /// Watches descriptors while the thread has no jobs to run, replacing the previous watch.
    ///
    /// The watch stays until replaced. Its handler runs on this thread, outside any task, so an actor of this thread is
    /// entered with `assumeIsolated`; the handler must not keep a strong reference to the owner of the thread.
    package func watch(_ watch: IdleWatch?) {
        loop.setWatch(watch)
    }
}
