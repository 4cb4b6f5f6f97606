import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Work that holds what others wait for: a signal asks it to end, and does not end the process on the spot.
enum Interruptible {
    /// Runs `body`, which the first SIGINT, SIGTERM or SIGHUP cancels: it gives back what it holds, and ends.
    ///
    /// A second SIGINT or SIGTERM ends the process where it stands: the database may be away. What whoever started the
    /// process has it ignore stays ignored.
    ///
    /// - Throws: What `body` throws.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        let heeded = [UnixSignal.sigint, .sigterm, .sighup].filter { !SignalAction(of: $0.rawValue).isIgnored }
        let former = heeded.map { SignalAction(of: $0.rawValue) }
        let signals = await UnixSignalsSequence(trapping: heeded)
        // No child tasks: to cancel those would end the watch for the second signal, too.
        let work = Task { try await body() }
        let watch = Task {
            var isAsked = false
            for await signal in signals {
                if isAsked {
                    // A terminal that goes sends it twice: its shell does, and then the system.
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
