import Subprocess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A program that is measured as a separate process, from its start to its exit.
struct Program: Sendable {
    /// The path of the binary.
    let path: String

    /// The product: the binary beside this one, or the one that ACCOUNTCTL_PROGRAM names.
    static var accountctl: Program {
        get throws {
            let named = ProcessInfo.processInfo.environment["ACCOUNTCTL_PROGRAM"]
            let path = named ?? URL(filePath: own.path).deletingLastPathComponent().path + "/accountctl"
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw BenchmarkError("no program at \(path): build accountctl, or name it by ACCOUNTCTL_PROGRAM")
            }
            return Program(path: path)
        }
    }

    /// This program.
    static var own: Program {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return Program(path: link ?? CommandLine.arguments[0])
    }

    /// Runs the program, discards its output, and returns the time in seconds.
    ///
    /// - Throws: ``BenchmarkError`` with its standard error if its exit code is not 0.
    func time(_ arguments: [String]) async throws -> Double {
        try await watch(arguments) { _ in }.seconds
    }

    /// Runs the program and passes its process id to `body` meanwhile; returns the time in seconds and the result of
    /// `body`.
    func watch<Result: Sendable>(
        _ arguments: [String],
        _ body: @Sendable (ProcessIdentifier) async throws -> Result
    ) async throws -> (seconds: Double, result: Result) {
        let start = ContinuousClock.now
        let ended = try await run(
            // env replaces itself by the program under the same process id; this costs half a millisecond, equally for
            // both sides of a figure.
            .name("env"),
            arguments: Arguments([path] + arguments),
            input: .none,
            output: .discarded,
            error: .string(limit: 1 << 20)
        ) { execution in
            try await body(execution.processIdentifier)
        }
        let seconds = (ContinuousClock.now - start).inSeconds
        guard ended.terminationStatus.isSuccess else {
            throw BenchmarkError(
                "\(path) \(arguments.joined(separator: " ")): \(ended.terminationStatus)\n\(ended.standardError)"
            )
        }
        return (seconds, ended.closureResult)
    }
}

/// The memory of a process, in megabytes.
struct ProcessMemory: Sendable {
    /// Memory that is not shared with other processes: `RssAnon`.
    var own: Double
    /// All resident memory, including the pages of the binary and its libraries.
    var total: Double

    /// Reads the memory of a process; nil if the process has ended or there is no /proc.
    init?(of process: ProcessIdentifier) {
        guard let status = try? String(contentsOfFile: "/proc/\(process.value)/status", encoding: .utf8) else {
            return nil
        }
        var fields: [String: Double] = [:]
        for line in status.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":"), let kilobytes = Double(line.filter(\.isNumber)) else {
                continue
            }
            fields[String(line[..<colon])] = kilobytes / 1024
        }
        guard let own = fields["RssAnon"], let total = fields["VmRSS"] else { return nil }
        self.own = own
        self.total = total
    }

    /// Samples a process until it ends and returns the peak of each value.
    static func peak(of process: ProcessIdentifier) async throws -> ProcessMemory? {
        guard var peak = ProcessMemory(of: process) else { return nil }
        while let now = ProcessMemory(of: process) {
            peak.own = max(peak.own, now.own)
            peak.total = max(peak.total, now.total)
            try await Task.sleep(for: .milliseconds(25))
        }
        return peak
    }
}
