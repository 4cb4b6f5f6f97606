import Foundation
import TestSupport

/// The program as a user starts it.
struct AccountctlProcess {
    /// The exit status of a run, and what it wrote.
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The path of the binary that was built with the tests.
    static var path: String {
        #if DEBUG
            Repository.path(".build/debug/accountctl")
        #else
            Repository.path(".build/release/accountctl")
        #endif
    }

    private let process = Process()
    private let out: CapturedOutput
    private let errors: CapturedOutput
    /// A stream that finishes when the process ends.
    private let life: AsyncStream<Void>

    /// Starts the program without a terminal and without the settings of whoever runs the tests, or of the machine.
    ///
    /// `program` may name another program, such as a shell that starts this one, and `directory` another working
    /// directory. The input is the text `input`, or comes through the pipe `typed`.
    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil,
        typed: Pipe? = nil,
        output: FileHandle? = nil,
        program: String = Self.path,
        directory: URL? = nil
    ) throws {
        // The home of the process, removed when the process ends.
        let folder = try TemporaryFolder("process").url
        let inputFile = folder.appendingPathComponent("in")
        try Data((input ?? "").utf8).write(to: inputFile)
        (out, errors) = (try CapturedOutput(), try CapturedOutput())
        let (life, end) = AsyncStream.makeStream(of: Void.self)
        self.life = life
        process.executableURL = URL(fileURLWithPath: program)
        process.currentDirectoryURL = directory ?? process.currentDirectoryURL
        process.arguments = arguments
        // An empty settings file that is named keeps the program from reading the one in /etc.
        let own = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "ACCOUNTCTL_CONFIG": "/dev/null"]
        process.environment = own.merging(environment) { $1 }
        process.standardInput = try typed?.fileHandleForReading ?? FileHandle(forReadingFrom: inputFile)
        process.standardOutput = output ?? out.writing
        process.standardError = errors.writing
        process.terminationHandler = { _ in
            try? FileManager.default.removeItem(at: folder)
            end.finish()
        }
        defer {
            for stream in [out, errors] { try? stream.writing.close() }
        }
        try process.run()
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: String...,
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> Result {
        try await AccountctlProcess(arguments, environment: environment, input: input).result()
    }

    /// The process id.
    var id: Int32 { process.processIdentifier }

    /// What the process has written to standard error so far.
    var errorsSoFar: String { errors.text }

    /// What the process has written to standard output so far.
    var outputSoFar: String { out.text }

    /// Whether the process is still running.
    var isRunning: Bool { process.isRunning }

    /// Sends a signal to the process.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until standard error contains a text; false if it ended without.
    func waitForErrors(containing text: String) async throws -> Bool {
        try await errors.wait { $0.contains(text) }
    }

    /// Waits until standard output contains a text; false if it ended without.
    func waitForOutput(containing text: String) async throws -> Bool {
        try await waitForOutput { $0.contains(text) }
    }

    /// Waits until `isEnough` accepts the standard output; false if it ended without.
    func waitForOutput(until isEnough: (String) -> Bool) async throws -> Bool {
        try await out.wait(until: isEnough)
    }

    /// Waits for the end of the process, which is killed if it runs longer than `limit`.
    func result(within limit: Duration? = nil) async throws -> Result {
        let (id, streams) = (id, [out, errors])
        let killer = limit.map { limit in
            Task {
                try await Task.sleep(for: limit)
                kill(id, SIGKILL)
            }
        }
        defer { killer?.cancel() }
        for await _ in life {}
        try Task.checkCancellation()
        // Processes that it started may still hold its streams, and are not waited for.
        let patience = Task {
            try await Task.sleep(for: .seconds(5))
            for stream in streams { stream.end() }
        }
        defer { patience.cancel() }
        for stream in streams { _ = try await stream.wait { _ in false } }
        let isKilled = process.terminationReason == .uncaughtSignal
        return Result(
            status: isKilled ? -process.terminationStatus : process.terminationStatus,
            output: outputSoFar,
            errors: errorsSoFar
        )
    }
}

extension TestDatabase {
    /// The variables by which the program finds this database.
    var variables: [String: String] {
        ["PGHOST": cluster.socket, "PGPORT": "\(cluster.port)", "PGUSER": "postgres", "PGDATABASE": name]
    }
}
