import EventThread
import Testing

@Suite struct EventThreadTests {
    @Test func runsAnActorOnItsThread() async throws {
        let probe = Probe(thread: try EventThread(name: "probe"))
        #expect(await probe.isOnThread())
        #expect(!probe.thread.isCurrent)
    }
}

private actor Probe {
    nonisolated let thread: EventThread
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(thread: EventThread) {
        self.thread = thread
    }

    func isOnThread() -> Bool {
        thread.isCurrent
    }
}
