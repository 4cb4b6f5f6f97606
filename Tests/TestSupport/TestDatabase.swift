import Foundation

/// A separate database for one test, created from a template and dropped afterwards.
package struct TestDatabase: Sendable {
    /// The initial content of a test's database.
    package enum Template: String, Sendable {
        /// Only the objects that initdb creates.
        case empty
        /// Supabase's `auth` and `storage` schemas, as created by `sql/platform`.
        case platform
        /// The platform with every migration of `sql/migrations` applied as `postgres`, and the checks of ``JobBooks``.
        case migrated
        /// The platform with the schema as the program installs it, and with its history, which the doctor checks; for
        /// tests of targets that depend on the program.
        case installed
    }

    /// The cluster that contains the database.
    package let cluster: TestCluster

    /// The name of the database.
    package let name: String

    /// Connection keywords for the limited role that the product runs as.
    package var conninfo: String { cluster.conninfo(database: name, user: "postgres") }

    /// Connection keywords for the superuser.
    package var adminConninfo: String { cluster.conninfo(database: name, user: "supabase_admin") }

    /// Creates a database for the duration of `body` and drops it afterwards.
    package static func with<Result: Sendable>(
        _ template: Template,
        in cluster: TestCluster? = nil,
        _ body: @Sendable (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let cluster = try cluster ?? .shared()
        let source = try await Templates.shared.name(of: template, in: cluster)
        let name = "test_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        // The server copies the files, in two thirds of the time that it takes to log each page of them.
        try await cluster.administer("create database \(name) template \(source) owner postgres strategy file_copy")
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(TestDatabase(cluster: cluster, name: name)))
        } catch {
            result = .failure(error)
        }
        // The test may have stopped the cluster on purpose; its folder is removed with all databases.
        try? await cluster.administer("drop database if exists \(name) with (force)")
        return try result.get()
    }

    /// Runs SQL in this database through psql and returns its unaligned output.
    @discardableResult
    package func psql(_ sql: String, user: String = "supabase_admin") async throws -> String {
        try await cluster.psql(database: name, user: user, sql)
    }
}

/// Creates each template database once per process and cluster.
private actor Templates {
    static let shared = Templates()

    private var made: [String: Task<String, any Error>] = [:]

    func name(of template: TestDatabase.Template, in cluster: TestCluster) async throws -> String {
        if template == .empty { return "template0" }
        let key = cluster.folder + "/" + template.rawValue
        if let task = made[key] { return try await task.value }
        let task = Task { try await Self.make(template, in: cluster) }
        made[key] = task
        return try await task.value
    }

    private static func make(_ template: TestDatabase.Template, in cluster: TestCluster) async throws -> String {
        let name = "template_\(template.rawValue)_\(ProcessInfo.processInfo.processIdentifier)"
        try await cluster.psql("drop database if exists \(name) with (force)")
        try await cluster.psql("create database \(name) template template0 owner postgres")
        try await cluster.psql(database: name, files: [Repository.path("sql/platform/database.sql")])
        if template == .platform { return name }
        try await cluster.psql(database: name, files: [Repository.path("sql/platform/allow-storage-policies.sql")])
        if template == .installed {
            // Without the settings of whoever runs the tests, and of the machine, which may name another database.
            try await TestCluster.command([
                "env", "-i", "ACCOUNTCTL_CONFIG=/dev/null", "PGHOST=\(cluster.socket)", "PGPORT=\(cluster.port)",
                "PGUSER=postgres", "PGDATABASE=\(name)", try BuiltProgram.url("accountctl").path, "migrate", "up",
            ])
        } else {
            // In one session: as many as there are files would take six times as long.
            try await cluster.psql(
                database: name,
                user: "postgres",
                files: try Repository.sqlFiles(in: "sql/migrations"),
                singleTransaction: true
            )
            try await cluster.psql(database: name, user: "postgres", JobBooks.checks)
        }
        try await cluster.psql(database: name, files: [Repository.path("sql/platform/forbid-storage-policies.sql")])
        return name
    }
}
