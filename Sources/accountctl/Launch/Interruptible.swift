import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Work that holds something others wait for, such as a lock: a signal cancels the work instead of ending the process
/// at once.
enum Interruptible {
    /// Runs `body`; the first SIGINT, SIGTERM or SIGHUP cancels it, so that it can release what it holds.
    ///
    /// A second SIGINT or SIGTERM ends the process at once, since the database may be unreachable. Signals that the
    /// parent process set to be ignored stay ignored.
    ///
    /// - Throws: What `body` throws.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        let heeded = [UnixSignal.sigint, .sigterm, .sighup].filter { !SignalAction(of: $0.rawValue).isIgnored }
        let former = heeded.map { SignalAction(of: $0.rawValue) }
        let signals = await UnixSignalsSequence(trapping: heeded)
        // Unstructured tasks: cancelling child tasks would also end the watch for the second signal.
        let work = Task { try await body() }
        let watch = Task {
            var isAsked = false
            for await signal in signals {
                if isAsked {
                    // A closing terminal sends SIGHUP twice: from its shell, then from the system.
                    if signal == .sighup { continue }
                    _exit(128 + signal.rawValue)
                }
                isAsked = true
                work.cancel()
            }
        }
        defer {
            watch.cancel()
            for action in former { action.restore() }
        }
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }
}
