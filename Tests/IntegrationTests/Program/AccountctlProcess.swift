import Foundation
import TestSupport

/// The program as a user starts it.
struct AccountctlProcess {
    /// How it ended and what it wrote.
    struct Result {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The binary that the tests were built with.
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
    /// Ends with the process.
    private let life: AsyncStream<Void>

    /// Starts it without a terminal and without the settings of whoever runs the tests.
    ///
    /// It can be another program, such as a shell that is to start this one, and be started in a folder of its own. Its
    /// input is a text, or what comes through a pipe.
    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil,
        typed: Pipe? = nil,
        output: FileHandle? = nil,
        program: String = Self.path,
        directory: URL? = nil
    ) throws {
        // Its home, which goes with it.
        let folder = try TemporaryFolder("process").url
        let inputFile = folder.appendingPathComponent("in")
        try Data((input ?? "").utf8).write(to: inputFile)
        (out, errors) = (try CapturedOutput(), try CapturedOutput())
        let (life, end) = AsyncStream.makeStream(of: Void.self)
        self.life = life
        process.executableURL = URL(fileURLWithPath: program)
        process.currentDirectoryURL = directory ?? process.currentDirectoryURL
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path].merging(environment) { $1 }
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

    /// Runs it to its end.
    static func run(
        _ arguments: String...,
        environment: [String: String] = [:],
        input: String? = nil
    ) async throws -> Result {
        try await AccountctlProcess(arguments, environment: environment, input: input).result()
    }

    /// Its number.
    var id: Int32 { process.processIdentifier }

    /// What it has written to standard error so far.
    var errorsSoFar: String { errors.text }

    /// What it has written to standard output so far.
    var outputSoFar: String { out.text }

    /// Whether it has not ended.
    var isRunning: Bool { process.isRunning }

    /// Sends a signal to it.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until its standard error holds a text; false when it ended without.
    func waitForErrors(containing text: String) async throws -> Bool {
        try await errors.wait { $0.contains(text) }
    }

    /// Waits until its standard output holds a text; false when it ended without.
    func waitForOutput(containing text: String) async throws -> Bool {
        try await waitForOutput { $0.contains(text) }
    }

    /// Waits until its standard output is enough; false when it ended without.
    func waitForOutput(until isEnough: (String) -> Bool) async throws -> Bool {
        try await out.wait(until: isEnough)
    }

    /// Waits for its end; what runs longer than `limit` is killed.
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
        // What it started itself may still hold its streams, and is not waited for.
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
