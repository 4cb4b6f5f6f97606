import Logging
import ServiceLifecycle
import Telemetry
import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs services until they end or a signal ends them.
///
/// The first SIGTERM, SIGINT or SIGHUP starts a graceful shutdown; a second SIGTERM or SIGINT cancels everything.
/// Either way the worker loses no job: unfinished jobs return to the queue. After `stopTime` the process ends at once,
/// as by `kill -9`.
struct Supervision {
    let services: [ServiceGroupConfiguration.ServiceConfiguration]
    let health: Health
    let logger: Logger
    let stopTime: Duration
    /// Trapped before the start is announced: a signal right after the announcement would otherwise end the process at
    /// once.
    let signals: UnixSignalsSequence

    /// Traps the signals that ask the process to stop, from now on.
    static func trapSignals() async -> UnixSignalsSequence {
        // SIGHUP stays ignored under nohup.
        if SignalAction(of: SIGHUP).isIgnored { return await UnixSignalsSequence(trapping: .sigterm, .sigint) }
        return await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
    }

    /// - Returns: `ok` when the services ended or were asked once; `interrupted` when a second signal cancelled them.
    func run() async throws -> ExitStatus {
        let group = ServiceGroup(configuration: .init(services: services, logger: logger))
        return try await withThrowingTaskGroup(of: ExitStatus.self) { tasks in
            tasks.addTask {
                do {
                    try await group.run()
                } catch {
                    // The cause of the failure, such as handlers that do not stop, may also keep the other services
                    // from ending.
                    endAfterStopTime()
                    throw error
                }
                return .ok
            }
            tasks.addTask {
                var isAsked = false
                for await signal in signals {
                    if isAsked {
                        // A closing terminal sends SIGHUP twice: from its shell, then from the system.
                        if signal == .sighup { continue }
                        return .interrupted
                    }
                    isAsked = true
                    endAfterStopTime()
                    logger.notice("stopping; a second signal stops at once", metadata: ["signal": "\(signal)"])
                    health.stop()
                    await group.triggerGracefulShutdown()
                }
                return .ok
            }
            // The first result decides: the services have ended, or must be cancelled.
            let status = try await tasks.next() ?? .ok
            tasks.cancelAll()
            return status
        }
    }

    /// Ends the process after `stopTime`, even if a statement cannot be cancelled or a name server does not answer.
    ///
    /// An unstructured task: it must outlive the cancellation of the child tasks, and ends with the process.
    private func endAfterStopTime() {
        Task {
            try? await Task.sleep(for: stopTime, clock: .continuous)
            logger.critical("did not stop in time; the process ends now", metadata: ["after": "\(stopTime)"])
            // Not `exit`: its handlers would release libraries that other threads are still using.
            _exit(ExitStatus.temporary.rawValue)
        }
    }
}
