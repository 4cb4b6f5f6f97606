import Subprocess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A private PostgreSQL cluster for one measurement, created by `deploy/private-postgres` and removed afterwards.
struct BenchmarkCluster: Sendable {
    /// The folder of the cluster, which contains `socket`.
    let folder: String

    /// The port of the server, on its socket and on 127.0.0.1.
    let port: Int

    /// The root of the checkout that the program was built from.
    static let repository: String = String(#filePath.dropLast("/Sources/Benchmarks/BenchmarkCluster.swift".count))

    /// Removes the cluster when its input ends, which happens on request or whenever this program exits.
    private static let keeper = """
        trap '' INT TERM HUP
        cat >/dev/null
        "$1" stop "$2" immediate && rm -rf "$2"
        """

    /// Runs `body` with a running cluster with the given settings, and removes the cluster afterwards.
    static func with<Value: Sendable>(
        settings: [String] = ["fsync=off"],
        _ body: @Sendable (BenchmarkCluster) async throws -> Value
    ) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "accountctl-benchmark-\(UUID().uuidString.prefix(8).lowercased())").path
        let program = "\(repository)/deploy/private-postgres"
        let kept = try await run(
            .name("bash"),
            arguments: ["-c", keeper, "keeper", program, folder],
            input: .inputWriter,
            output: .discarded,
            error: .string(limit: 1 << 20)
        ) { keeper in
            let result: Result<Value, any Error>
            do {
                try await command([program, "start", folder] + settings)
                let text = try String(contentsOfFile: folder + "/port", encoding: .utf8)
                guard let port = Int(text.filter(\.isNumber)) else {
                    throw BenchmarkError("\(folder)/port holds no port")
                }
                result = .success(try await body(BenchmarkCluster(folder: folder, port: port)))
            } catch {
                result = .failure(error)
            }
            try await keeper.standardInputWriter.finish()
            return result
        }
        let value = try kept.closureResult.get()
        guard kept.terminationStatus.isSuccess else {
            throw BenchmarkError("\(folder) was not removed: \(kept.standardError)")
        }
        return value
    }

    /// Connection parameters for the socket.
    func conninfo(database: String = "postgres", user: String = "supabase_admin") -> String {
        "host=\(folder)/socket port=\(port) user=\(user) dbname=\(database)"
    }

    /// Creates a database with the platform's schema and every migration applied as `postgres`.
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

    /// The psql binary of the server's version; Debian's psql in the path is a script that searches for it.
    var psqlProgram: Program {
        get async throws {
            let folder = try await psql(["-c", "select setting from pg_config where name = 'BINDIR'"])
            return Program(path: folder.filter { !$0.isNewline } + "/psql")
        }
    }

    /// Runs a command and returns its standard output.
    ///
    /// - Throws: ``BenchmarkError`` with the command's standard error if it fails.
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
}

/// A failed measurement, described in words.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
