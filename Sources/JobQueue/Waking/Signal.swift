import Synchronization

/// A flag that one task waits for and many raise.
///
/// Raising it while nobody waits is remembered once.
final class Signal: Sendable {
    private enum State {
        case lowered
        case raised
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.lowered)

    /// Raises the flag.
    func set() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if case .awaited(let continuation) = state {
                state = .lowered
                return continuation
            }
            state = .raised
            return nil
        }
        waiting?.resume()
    }

    /// Returns when the flag is raised, lowering it, or when the task is cancelled.
    ///
    /// One task at a time may wait.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state -> Bool in
                    switch state {
                    case .raised:
                        state = .lowered
                        return true
                    case .lowered where Task.isCancelled:
                        // The handler below ran before there was a continuation to resume.
                        return true
                    case .lowered:
                        state = .awaited(continuation)
                        return false
                    case .awaited:
                        preconditionFailure("two tasks wait for one signal")
                    }
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            set()
        }
    }

    /// Returns when the flag is raised, the time is over, or the task is cancelled.
    ///
    /// If the time ends at the moment of the return, the flag may be raised once too often: callers must check for a
    /// reason.
    func wait(for duration: Duration) async {
        // Not a child task, which would have to be awaited: that adds two changes of threads to the path of every job
        // to an idle worker.
        let alarm = Task(name: "alarm") {
            guard (try? await Task.sleep(for: duration)) != nil else { return }
            self.set()
        }
        defer { alarm.cancel() }
        await wait()
    }
}
