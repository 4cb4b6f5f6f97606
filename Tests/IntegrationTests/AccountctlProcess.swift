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
    private let folder: URL

    /// Starts it without a terminal and without the settings of whoever runs the tests.
    ///
    /// It can be another program, such as a shell that is to start this one, and be started in a folder of its own.
    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String? = nil,
        output: FileHandle? = nil,
        program: String = Self.path,
        directory: URL? = nil
    ) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("accountctl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["out", "err", "in"] {
            _ = FileManager.default.createFile(
                atPath: folder.appendingPathComponent(name).path,
                contents: name == "in" ? Data((input ?? "").utf8) : nil
            )
        }
        process.executableURL = URL(fileURLWithPath: program)
        process.currentDirectoryURL = directory ?? process.currentDirectoryURL
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path].merging(environment) { $1 }
        process.standardInput = try FileHandle(forReadingFrom: folder.appendingPathComponent("in"))
        process.standardOutput = try output ?? FileHandle(forWritingTo: folder.appendingPathComponent("out"))
        process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent("err"))
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
    var errorsSoFar: String {
        (try? String(contentsOf: folder.appendingPathComponent("err"), encoding: .utf8)) ?? ""
    }

    /// What it has written to standard output so far.
    var outputSoFar: String {
        (try? String(contentsOf: folder.appendingPathComponent("out"), encoding: .utf8)) ?? ""
    }

    /// Whether it has not ended.
    var isRunning: Bool { process.isRunning }

    /// Sends a signal to it.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until its standard error holds a text; false when it ended without.
    func waitForErrors(containing text: String) async throws -> Bool {
        while process.isRunning {
            if errorsSoFar.contains(text) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return errorsSoFar.contains(text)
    }

    /// Waits until its standard output holds a text; false when it ended without.
    func waitForOutput(containing text: String) async throws -> Bool {
        while process.isRunning {
            if outputSoFar.contains(text) { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return outputSoFar.contains(text)
    }

    /// Waits for its end; what runs longer than `limit` is killed.
    func result(within limit: Duration? = nil) async throws -> Result {
        defer { try? FileManager.default.removeItem(at: folder) }
        let end = limit.map { ContinuousClock.now.advanced(by: $0) }
        while process.isRunning {
            if let end, ContinuousClock.now > end { signal(SIGKILL) }
            try await Task.sleep(for: .milliseconds(5))
        }
        let isKilled = process.terminationReason == .uncaughtSignal
        return Result(
            status: isKilled ? -process.terminationStatus : process.terminationStatus,
            output: try String(contentsOf: folder.appendingPathComponent("out"), encoding: .utf8),
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

extension TestDatabase {
    /// Gives `body` a platform whose storage lets `postgres` create policies, as the hosted one does.
    static func withPlatform(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.cluster.psql(
                database: database.name,
                files: [Repository.path("sql/platform/allow-storage-policies.sql")]
            )
            try await body(database)
        }
    }
}
