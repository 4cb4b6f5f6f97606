import Foundation
import Subprocess

/// The private PostgreSQL cluster that a test run uses.
///
/// `deploy/test` starts one and names its folder in `ACCOUNTCTL_TEST_CLUSTER`; tests that break a server start their
/// own with ``with(settings:_:)``.
package struct TestCluster: Sendable {
    /// The folder of the cluster, which contains `socket` and `port`.
    package let folder: String

    /// The port of the server, on its socket and on 127.0.0.1.
    package let port: Int

    /// The folder of the server's socket.
    package var socket: String { folder + "/socket" }

    /// The password file from which libpq reads the limited role's password for connections over TCP.
    package var passwordFile: String { folder + "/tcp.passfile" }

    /// The limited role's password for connections over TCP.
    func password() throws -> String {
        let line = try String(contentsOfFile: passwordFile, encoding: .utf8)
        return line.trimmingCharacters(in: .newlines).split(separator: ":").last.map(String.init) ?? ""
    }

    /// The cluster that the test command started.
    ///
    /// - Throws: ``TestSupportError`` when the tests were not started by `deploy/test`.
    package static func shared() throws -> TestCluster {
        guard let folder = ProcessInfo.processInfo.environment["ACCOUNTCTL_TEST_CLUSTER"] else {
            throw TestSupportError("ACCOUNTCTL_TEST_CLUSTER is not set: run the tests by deploy/test")
        }
        return try TestCluster(folder: folder)
    }

    package init(folder: String) throws {
        let text = try String(contentsOfFile: folder + "/port", encoding: .utf8)
        guard let port = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw TestSupportError("\(folder)/port holds no port")
        }
        self.folder = folder
        self.port = port
    }

    /// Starts a separate cluster for a test that stops, kills or reconfigures the server, and removes it afterwards.
    package static func with<Result: Sendable>(
        settings: [String] = [],
        _ body: @Sendable (TestCluster) async throws -> Result
    ) async throws -> Result {
        // In the shared cluster's folder, where the test command finds servers that an aborted test left running.
        let folder = try shared().folder + "/\(UUID().uuidString.prefix(8).lowercased())"
        try await command([privatePostgres(), "start", folder, "fsync=off"] + settings)
        do {
            let result = try await body(TestCluster(folder: folder))
            try await remove(folder)
            return result
        } catch {
            try? await remove(folder)
            throw error
        }
    }

    /// Restarts the server; `mode` is one of `smart`, `fast` and `immediate`.
    package func restart(mode: String = "fast") async throws {
        try await Self.command([Self.privatePostgres(), "restart", folder, mode])
    }

    /// Stops the server; `mode` is one of `smart`, `fast` and `immediate`.
    package func stop(mode: String = "fast") async throws {
        try await Self.command([Self.privatePostgres(), "stop", folder, mode])
    }

    /// Starts the stopped server again.
    package func start() async throws {
        try await Self.command([Self.privatePostgres(), "start", folder])
    }

    /// Returns connection keywords for one database of this cluster over its Unix socket.
    package func conninfo(database: String, user: String) -> String {
        "host=\(socket) port=\(port) user=\(user) dbname=\(database)"
    }

    /// Returns connection keywords for the limited role over TCP, to a proxy or another port of 127.0.0.1.
    package func conninfo(database: String, port: Int) -> String {
        "host=127.0.0.1 port=\(port) user=postgres passfile=\(passwordFile) dbname=\(database)"
    }

    /// Runs SQL as the superuser through psql, independently of the driver under test, and returns its unaligned
    /// output.
    @discardableResult
    package func psql(
        database: String = "postgres",
        user: String = "supabase_admin",
        files: [String] = [],
        _ sql: String? = nil,
        singleTransaction: Bool = false
    ) async throws -> String {
        var arguments = [
            "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", conninfo(database: database, user: user),
        ]
        if singleTransaction { arguments.append("-1") }
        for file in files { arguments += ["-f", file] }
        if let sql { arguments += ["-c", sql] }
        return try await Self.output(of: "psql", arguments)
    }

    private static func remove(_ folder: String) async throws {
        try await command([privatePostgres(), "stop", folder, "immediate"])
        try FileManager.default.removeItem(atPath: folder)
    }

    private static func privatePostgres() -> String {
        Repository.path("deploy/private-postgres")
    }

    /// Runs a command to its end and returns its standard output.
    ///
    /// - Throws: ``TestSupportError`` with the command's standard error when it fails.
    @discardableResult
    package static func command(_ words: [String], environment: [String: String] = [:]) async throws -> String {
        // Unlike a name, `env` may be given a path.
        try await output(of: "env", words, environment: environment)
    }

    private static func output(
        of program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> String {
        let updates = Dictionary(
            uniqueKeysWithValues: environment.map { (Environment.Key(stringLiteral: $0.key), Optional($0.value)) }
        )
        let result = try await run(
            .name(program),
            arguments: Arguments(arguments),
            environment: .inherit.updating(updates),
            output: .string(limit: 16 << 20),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            throw TestSupportError(
                "\(program) \(arguments.joined(separator: " ")): \(result.terminationStatus)\n\(result.standardError)"
            )
        }
        return result.standardOutput.trimmingCharacters(in: .newlines)
    }
}
