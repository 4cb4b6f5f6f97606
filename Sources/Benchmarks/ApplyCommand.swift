import ArgumentParser
import Logging
import Migrations
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Applies a folder of migrations with the product's engine, so that `migrate.apply` can measure it as a process.
///
/// The product itself applies only its embedded migrations.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply a folder of migrations by the engine, as the measurement of it does."
    )

    @Argument(help: "The folder, with files like 0001_name.sql.")
    var folder: String

    @Option(help: "The database, as a libpq connection string.")
    var databaseURL: String

    func run() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sql") }
        let set = try MigrationSet(
            try names.map { name in
                try Migration(fileName: name, text: String(contentsOfFile: folder + "/" + name, encoding: .utf8))
            }
        )
        var configuration = ConnectionConfiguration(conninfo: databaseURL)
        configuration.statementDeadline = nil
        let engine = MigrationEngine(set: set, configuration: configuration, logger: .silent)
        let report = try await Connection.with(configuration, logger: .silent) { connection in
            try await engine.up(on: connection)
        }
        print("\(report.applied.count) applied")
    }
}
