import Foundation
import TestSupport

/// A worker in a process of its own.
final class WorkerProcess: Sendable {
    let pid: Int32
    private let process: ProcessBox

    /// Holds a process, whose methods may be called from any thread.
    private struct ProcessBox: @unchecked Sendable {
        let process: Process
    }

    /// Starts a worker process; `lease` and `grace` are in milliseconds.
    init(
        _ harness: JobHarness,
        conninfo: String? = nil,
        lease: Int = 1500,
        slots: Int = 4,
        grace: Int = 10_000,
        environment: [String: String] = [:]
    ) throws {
        let process = Process()
        process.executableURL = try BuiltProgram.url("JobQueueTestWorker")
        process.arguments = [conninfo ?? harness.database.conninfo, "\(lease)", "\(slots)", "\(grace)"]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        pid = process.processIdentifier
        self.process = ProcessBox(process: process)
    }

    deinit {
        kill(SIGKILL)
        process.process.waitUntilExit()
    }

    var isRunning: Bool { process.process.isRunning }

    func kill(_ signal: Int32) {
        // `isRunning` guards against an id that another process has taken over.
        if isRunning { _ = Foundation.kill(pid, signal) }
    }

    /// Waits for the end and returns the exit code, or the signal's number less 1000.
    ///
    /// A process that runs longer than `limit` is killed.
    func ended(within limit: Duration = .seconds(100)) async throws -> Int32 {
        let end = ContinuousClock.now.advanced(by: limit)
        while isRunning {
            if ContinuousClock.now > end { kill(SIGKILL) }
            try await Task.sleep(for: .milliseconds(5))
        }
        let status = process.process.terminationStatus
        return process.process.terminationReason == .exit ? status : status - 1000
    }
}
