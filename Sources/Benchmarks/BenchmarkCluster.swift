import Subprocess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A private PostgreSQL cluster for one measurement, made by `deploy/private-postgres` and removed afterwards.
struct BenchmarkCluster: Sendable {
    /// The folder of the cluster; `socket` lies in it.
    let folder: String

    /// The port of the server, on its socket and on 127.0.0.1.
    let port: Int

    /// The top of the checkout that the program was built from.
    static let repository: String = String(#filePath.dropLast("/Sources/Benchmarks/BenchmarkCluster.swift".count))

    /// Gives `body` a running cluster with the given settings, and removes it afterwards.
    static func with<Result: Sendable>(
        settings: [String] = ["fsync=off"],
        _ body: @Sendable (BenchmarkCluster) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "accountctl-benchmark-\(UUID().uuidString.prefix(8).lowercased())").path
        try await command(["\(repository)/deploy/private-postgres", "start", folder] + settings)
        do {
            let text = try String(contentsOfFile: folder + "/port", encoding: .utf8)
            guard let port = Int(text.filter(\.isNumber)) else { throw BenchmarkError("\(folder)/port holds no port") }
            let result = try await body(BenchmarkCluster(folder: folder, port: port))
            try await remove(folder)
            return result
        } catch {
            try? await remove(folder)
            throw error
        }
    }

    /// Connection keywords over the socket.
    func conninfo(database: String = "postgres", user: String = "supabase_admin") -> String {
        "host=\(folder)/socket port=\(port) user=\(user) dbname=\(database)"
    }

    /// Makes a database with the platform and every migration, as `postgres` sees it.
    func migratedDatabase(_ name: String) async throws {
        try await psql(["-c", "create database \(name) template template0 owner postgres"])
        let sql = Self.repository + "/sql"
        try await psql(["-f", sql + "/platform/database.sql"], database: name)
        try await psql(["-f", sql + "/platform/allow-storage-policies.sql"], database: name)
        let migrations = try FileManager.default.contentsOfDirectory(atPath: sql + "/migrations")
        for file in migrations.filter({ $0.hasSuffix(".sql") }).sorted() {
            try await psql(["-1", "-f", sql + "/migrations/" + file], database: name, user: "postgres")
        }
        try await psql(["-f", sql + "/platform/forbid-storage-policies.sql"], database: name)
    }

    /// Runs psql and returns its unaligned output.
    @discardableResult
    func psql(
        _ arguments: [String],
        database: String = "postgres",
        user: String = "supabase_admin"
    ) async throws -> String {
        try await Self.command(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", conninfo(database: database, user: user)]
                + arguments
        )
    }

    /// psql itself, of the server's version: what Debian has in the path is a script that looks for it.
    var psqlProgram: Program {
        get async throws {
            let folder = try await psql(["-c", "select setting from pg_config where name = 'BINDIR'"])
            return Program(path: folder.filter { !$0.isNewline } + "/psql")
        }
    }

    /// Runs a command to its end and returns its standard output.
    ///
    /// - Throws: ``BenchmarkError`` with the command's standard error when it fails.
    @discardableResult
    static func command(_ words: [String]) async throws -> String {
        let result = try await run(
            .name("env"),
            arguments: Arguments(words),
            output: .string(limit: 16 << 20),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            throw BenchmarkError(
                "\(words.joined(separator: " ")): \(result.terminationStatus)\n\(result.standardError)"
            )
        }
        return result.standardOutput
    }

    private static func remove(_ folder: String) async throws {
        try await command(["\(repository)/deploy/private-postgres", "stop", folder, "immediate"])
        try FileManager.default.removeItem(atPath: folder)
    }
}

/// What went wrong in a measurement, in words.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
