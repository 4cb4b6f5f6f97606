import EventThread
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct EventThreadTests {
    @Test func runsAnActorOnItsThread() async throws {
        let probe = Probe(thread: try EventThread(name: "probe"))
        #expect(await probe.isOnThread())
        #expect(!probe.thread.isCurrent)
    }

    @Test func runsOnTheThreadThatCallsIt() async throws {
        let thread = try EventThread()
        let probe = Probe(thread: thread)
        // This thread never ends: a thread that calls run() does nothing else from then on.
        let name = Mutex<String?>(nil)
        try startDetachedThread {
            name.withLock { $0 = Self.threadName() }
            thread.run()
        }
        #expect(await probe.isOnThread())
        await withTaskExecutorPreference(thread) {
            #expect(await onThread(thread))
            // run() does not rename the thread that calls it.
            #expect(Self.threadName() == name.withLock(\.self))
        }
    }

    private static func threadName() -> String? {
        try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    }

    @Test func carriesItsTasksAndTheirChildren() async throws {
        let thread = try EventThread(name: "probe")
        await withTaskExecutorPreference(thread) {
            #expect(await onThread(thread))
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<10 { group.addTask { thread.isCurrent } }
                for await isOnThread in group { #expect(isOnThread) }
            }
            // An unstructured task does not inherit the executor preference.
            let elsewhere = await Task { thread.isCurrent }.value
            #expect(!elsewhere)
        }
    }

    private nonisolated func onThread(_ thread: EventThread) async -> Bool {
        thread.isCurrent
    }

    @Test func losesNoJobFromManyThreads() async throws {
        let counter = Counter(thread: try EventThread(name: "counter"))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<2000 { await counter.increment() }
                }
            }
        }
        #expect(await counter.count == 16_000)
    }

    @Test func endsWithItsLastReference() async throws {
        let name = "ending-\(UInt16.random(in: 0...9999))"
        func isRunning() throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").contains { task in
                let comm = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                return comm?.trimmingCharacters(in: .newlines) == name
            }
        }
        do {
            let probe = Probe(thread: try EventThread(name: name))
            #expect(await probe.isOnThread())
            #expect(try isRunning())
        }
        try await eventually("it ends") { try !isRunning() }
    }

    @Test func aWaitEndsByDescriptorDeadlineOrWakeUp() async throws {
        let probe = Probe(thread: try EventThread(name: "probe"))
        let (pipe, other) = (Pipe(), Pipe())
        let interests = [
            Interest(pipe.fileHandleForReading.fileDescriptor, .read),
            Interest(other.fileHandleForReading.fileDescriptor, .read),
        ]
        let started = ContinuousClock.now
        #expect(await probe.wait(interests, until: started.advanced(by: .milliseconds(20))) == .deadline)
        #expect(started.duration(to: .now) >= .milliseconds(20))

        try other.fileHandleForWriting.write(contentsOf: [1])
        #expect(await probe.wait(interests, until: nil) == .ready([interests[1]]))

        let waiting = Task { await probe.wait([interests[0]], until: nil) }
        try await eventually("it waits") { probe.hasBegun }
        probe.thread.wake()
        #expect(await waiting.value == .woken)
    }

    /// Frequent waits share one alarm instead of a timeout of their own: the deadline must end a wait all the same.
    @Test func aWaitEndsByItsDeadlineAlsoAfterManyOthers() async throws {
        let probe = Probe(thread: try EventThread(name: "probe"))
        let (ready, silent) = (Pipe(), Pipe())
        try ready.fileHandleForWriting.write(contentsOf: [1])
        let answered = Interest(ready.fileHandleForReading.fileDescriptor, .read)
        for _ in 0..<100 {
            #expect(await probe.wait([answered], until: .now.advanced(by: .seconds(60))) == .ready([answered]))
        }
        let deadline = ContinuousClock.now.advanced(by: .milliseconds(700))
        let unanswered = [Interest(silent.fileHandleForReading.fileDescriptor, .read)]
        // The shared alarm may wake the thread before the deadline.
        while await probe.wait(unanswered, until: deadline) == .woken {}
        let late = deadline.duration(to: .now)
        #expect(late >= .zero && late < .seconds(20))
    }

    @Test func watchesDescriptorsWhileIdle() async throws {
        let thread = try EventThread(name: "watcher")
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        let (events, continuation) = AsyncStream.makeStream(of: [Interest].self)
        thread.watch(
            IdleWatch([Interest(descriptor, .read)]) { [weak thread] ready in
                // Level-triggered: as long as the data is not read, the handler is called again, so the watch ends
                // here.
                thread?.watch(nil)
                continuation.yield(ready)
            }
        )
        try pipe.fileHandleForWriting.write(contentsOf: [1])
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == [Interest(descriptor, .read)])

        thread.watch(
            IdleWatch([], until: .now.advanced(by: .milliseconds(5))) { [weak thread] ready in
                thread?.watch(nil)
                continuation.yield(ready)
            }
        )
        #expect(await iterator.next() == [])
    }

    @Test func isolationIsCheckedByThread() async throws {
        await #expect(processExitsWith: .failure) {
            let probe = Probe(thread: try EventThread(name: "probe"))
            trespass(probe)
        }
    }
}

/// Asserts the actor's isolation from another thread.
private func trespass(_ probe: Probe) {
    probe.assumeIsolated { _ in }
}

private actor Probe {
    nonisolated let thread: EventThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private let begun = Mutex(false)

    init(thread: EventThread) {
        self.thread = thread
    }

    nonisolated var hasBegun: Bool { begun.withLock { $0 } }

    func isOnThread() -> Bool {
        thread.isCurrent
    }

    func wait(_ interests: [Interest], until deadline: ContinuousClock.Instant?) -> Readiness {
        begun.withLock { $0 = deadline == nil && interests.count == 1 }
        return thread.wait(for: interests, until: deadline)
    }
}

private actor Counter {
    private let thread: EventThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    private(set) var count = 0

    init(thread: EventThread) {
        self.thread = thread
    }

    func increment() {
        count += 1
    }
}
