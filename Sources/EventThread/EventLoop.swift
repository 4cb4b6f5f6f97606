#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import Synchronization

/// The state that the thread itself runs: the job queue, the waker and the idle watch.
///
/// Separate from ``EventThread`` so that the running thread does not keep the executor alive: the executor's deinit
/// ends the loop.
final class EventLoop: Sendable {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Keeps the executor alive while jobs that refer to it (unowned) are queued or run.
        var executor: EventThread?
        /// Whether the thread is in `poll`, or about to enter it without checking the queue again: enqueueing has to
        /// wake it.
        var sleeps = false
        var stopped = false
        var watch: IdleWatch?
    }

    let waker: Waker
    /// The thread's name; nil to keep its current name.
    private let name: String?
    private let state = Mutex(State())
    /// Used only by the thread; an uncontended lock costs almost nothing.
    private let alarm: Mutex<WaitAlarm>

    /// Creates a loop; the alarm clock's own thread cannot use alarms.
    init(name: String?, hasAlarms: Bool = true) throws(EventThreadError) {
        self.name = name
        alarm = Mutex(WaitAlarm(isUsable: hasAlarms))
        waker = try Waker()
    }

    var isCurrent: Bool {
        CurrentThread.loop() == Unmanaged.passUnretained(self).toOpaque()
    }

    func start() throws(EventThreadError) {
        try startDetachedThread { self.run() }
    }

    func stop() {
        state.withLock { $0.stopped = true }
        waker.signal()
    }

    func enqueue(_ job: UnownedJob, on executor: EventThread) {
        let mustWake = state.withLock { state in
            state.jobs.append(job)
            state.executor = executor
            // Cleared here so that a burst of jobs costs one write.
            defer { state.sleeps = false }
            return state.sleeps
        }
        if mustWake { waker.signal() }
    }

    func setWatch(_ watch: IdleWatch?) {
        let mustWake = state.withLock { state in
            state.watch = watch
            return state.sleeps && !isCurrent
        }
        if mustWake { waker.signal() }
    }

    func run() {
        if let name { rename(name) }
        CurrentThread.setLoop(Unmanaged.passUnretained(self).toOpaque())
        defer { CurrentThread.setLoop(nil) }
        while true {
            runQueuedJobs()
            switch prepareToSleep() {
            case .run: continue
            case .sleep(let watch): sleep(watch)
            case .end: return
            }
        }
    }

    private func runQueuedJobs() {
        let (jobs, executor) = state.withLock { state in
            defer {
                state.jobs = []
                state.executor = nil
            }
            return (state.jobs, state.executor)
        }
        guard let executor else { return }
        let serial = executor.asUnownedSerialExecutor()
        let task = executor.asUnownedTaskExecutor()
        for job in jobs {
            job.runSynchronously(isolatedTo: serial, taskExecutor: task)
        }
    }

    private enum Step {
        case run
        case sleep(IdleWatch?)
        case end
    }

    /// Decides under one lock whether there is nothing to do, so that a job enqueued after that decision wakes the
    /// thread.
    private func prepareToSleep() -> Step {
        state.withLock { state in
            guard state.jobs.isEmpty else { return .run }
            if state.stopped { return .end }
            state.sleeps = true
            return .sleep(state.watch)
        }
    }

    private func sleep(_ watch: IdleWatch?) {
        let readiness = wait(for: watch?.interests ?? [], until: watch?.deadline)
        let interrupted = state.withLock { state in
            state.sleeps = false
            // A queued job may change the watch, so it runs first; the descriptor stays ready.
            return !state.jobs.isEmpty
        }
        guard let watch, !interrupted else { return }
        switch readiness {
        case .ready(let events): watch.handler(events)
        case .deadline: watch.handler([])
        case .woken: break
        }
    }

    func wait(for interests: [Interest], until deadline: ContinuousClock.Instant?) -> Readiness {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: interests.count + 1) { slots in
            for (index, interest) in interests.enumerated() {
                slots.initializeElement(at: index + 1, to: Self.slot(interest))
            }
            switch poll(slots, until: deadline) {
            case .deadline: return .deadline
            case .woken: return .woken
            case .ready:
                return .ready(
                    slots.dropFirst().filter { $0.revents != 0 }
                        .map { Interest($0.fd, IOEvents(rawValue: $0.revents)) }
                )
            }
        }
    }

    /// Waits for one descriptor, as every round trip to a database does, without allocating an array.
    func wait(for interest: Interest, until deadline: ContinuousClock.Instant?) -> SoleReadiness {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { slots in
            slots.initializeElement(at: 1, to: Self.slot(interest))
            switch poll(slots, until: deadline) {
            case .deadline: return .deadline
            case .woken: return .woken
            case .ready: return .ready(IOEvents(rawValue: slots[1].revents))
            }
        }
    }

    private enum PollOutcome {
        case ready
        case deadline
        case woken
    }

    private static func slot(_ interest: Interest) -> pollfd {
        pollfd(fd: interest.descriptor, events: interest.events.rawValue, revents: 0)
    }

    /// Polls the slots; this function fills the first with the waker.
    private func poll(
        _ slots: UnsafeMutableBufferPointer<pollfd>,
        until deadline: ContinuousClock.Instant?
    ) -> PollOutcome {
        precondition(isCurrent, "waits belong on the event thread")
        slots.initializeElement(at: 0, to: pollfd(fd: waker.readEnd, events: IOEvents.read.rawValue, revents: 0))
        while true {
            let count = systemPoll(slots.baseAddress, nfds_t(slots.count), limit(until: deadline))
            if count < 0 {
                precondition(errno == EINTR || errno == EAGAIN || errno == ENOMEM, "poll was called wrongly")
                continue
            }
            if slots[0].revents != 0 {
                waker.drain()
                if count == 1 { return .woken }
            }
            if count > 0 { return .ready }
            // milliseconds() shortens long waits, so check again.
            if let deadline, deadline <= .now { return .deadline }
        }
    }

    /// The timeout of one call of `poll`.
    private func limit(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let now = ContinuousClock.now
        switch alarm.withLock({ $0.limit(until: deadline, now: now) }) {
        case .none: return -1
        case .own: return Self.milliseconds(now.duration(to: deadline))
        case .alarm(let instant):
            guard let clock = AlarmClock.shared else {
                alarm.withLock { $0.failed() }
                return Self.milliseconds(now.duration(to: deadline))
            }
            clock.ring(waker, at: instant)
            return -1
        }
    }

    /// A duration in the milliseconds of `poll`, rounded up so that a wait never ends a little early and spins.
    private static func milliseconds(_ left: Duration) -> Int32 {
        guard left > .zero else { return 0 }
        guard left < .seconds(3600) else { return 3_600_000 }
        let (seconds, attoseconds) = left.components
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    private func rename(_ name: String) {
        let short = String(name.prefix(15))
        #if canImport(Glibc)
            // Glibc's pthread_setname_np is a GNU extension that the Swift module does not export.
            let file = open("/proc/thread-self/comm", O_WRONLY)
            guard file >= 0 else { return }
            _ = short.withCString { write(file, $0, strlen($0)) }
            close(file)
        #else
            pthread_setname_np(short)
        #endif
    }
}

/// The system call, outside the type because a member of the same name hides it.
private func systemPoll(_ slots: UnsafeMutablePointer<pollfd>?, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
    poll(slots, count, milliseconds)
}
