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
/// The first SIGTERM, SIGINT or SIGHUP asks everything to end well; a second SIGTERM or SIGINT cancels everything. Either
/// way nothing is lost that a worker holds: jobs that were not done go back. What has not ended well after `stopTime` is
/// ended where it stands, as by `kill -9`.
struct Supervision {
    let services: [ServiceGroupConfiguration.ServiceConfiguration]
    let health: Health
    let logger: Logger
    let stopTime: Duration
    /// Trapped before anything says that it has started: a signal that comes right after would end the process on the
    /// spot.
    let signals: UnixSignalsSequence

    /// The signals that ask for an end, trapped from now on.
    static func trapSignals() async -> UnixSignalsSequence {
        // What nohup has it ignore stays ignored.
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
                    // What made it fail, such as handlers that do not stop, may keep the rest from ending, too.
                    endAfterStopTime()
                    throw error
                }
                return .ok
            }
            tasks.addTask {
                var isAsked = false
                for await signal in signals {
                    if isAsked {
                        // A terminal that goes sends it twice: its shell does, and then the system.
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
            // Whichever is first: the services have ended, or must be cancelled.
            let status = try await tasks.next() ?? .ok
            tasks.cancelAll()
            return status
        }
    }

    /// A statement that cannot be cancelled, or a name server that does not answer, must not keep the process from
    /// ending.
    ///
    /// Not a child task: it watches the end of all of them, and ends with the process.
    private func endAfterStopTime() {
        Task {
            try? await Task.sleep(for: stopTime, clock: .continuous)
            logger.critical("did not end in time and is ended", metadata: ["after": "\(stopTime)"])
            // Not `exit`: it would put libraries away that other threads are in.
            _exit(ExitStatus.temporary.rawValue)
        }
    }
}
