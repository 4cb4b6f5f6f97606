import Foundation
import TestSupport
import Testing

/// A deployment with a database that the program migrated, keys, and the settings of a test.
struct DoctorStage: Sendable {
    let database: TestDatabase
    let variables: [String: String]
    let folder: URL

    func file(_ name: String, _ text: String) throws -> String {
        try SecretFile.write(text, to: folder.appendingPathComponent(name))
    }

    /// Runs the doctor, and returns its exit code and all findings that are not ok.
    func examine(
        _ more: [String: String] = [:],
        everything: Bool = false
    ) async throws -> (status: Int32, findings: [DoctorFinding]) {
        let result = try await AccountctlProcess(
            ["doctor", "--json"] + (everything ? [] : ["--database-only"]),
            environment: variables.merging(more) { $1 }
        ).result()
        let findings = try? JSONDecoder().decode([DoctorFinding].self, from: Data(result.output.utf8))
        return (result.status, try #require(findings, "\(result.errors)").filter { $0.severity != "ok" })
    }

    /// Returns what the finding of a code says; expects that it exists and has a reason and advice.
    func find(
        _ code: String,
        _ severity: String,
        _ more: [String: String] = [:],
        everything: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let (status, findings) = try await examine(more, everything: everything)
        let found = findings.first { $0.code == code && $0.severity == severity }
        let finding = try #require(found, "\(findings)", sourceLocation: sourceLocation)
        #expect(finding.why != nil && finding.todo != nil, sourceLocation: sourceLocation)
        let hasError = findings.contains { $0.severity == "error" }
        #expect(status == (hasError ? 1 : 0), sourceLocation: sourceLocation)
        return finding.what
    }

    /// Requests the deletion of a new account.
    func requestDeletion(_ options: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let user = UUID().uuidString.lowercased()
        try await database.psql("insert into auth.users (id, email) values ('\(user)', 'a@example.com')")
        let words = ["deletion", "request", user, "--confirm", user] + options
        try await AccountctlProcess.must(words, variables, sourceLocation: sourceLocation)
    }

    /// Calls `body` with a deployment that was migrated with these options; with `working`, a worker seems to run.
    static func with(
        working: Bool = true,
        migrating: [String] = [],
        _ body: @Sendable (DoctorStage) async throws -> Void
    ) async throws {
        guard !migrating.isEmpty else {
            return try await TestDatabase.with(.installed) { try await with($0, working: working, body) }
        }
        try await TestDatabase.withPlatform { database in
            try await AccountctlProcess.must(["migrate", "up"] + migrating, database.variables)
            try await with(database, working: working, body)
        }
    }

    private static func with(
        _ database: TestDatabase,
        working: Bool,
        _ body: @Sendable (DoctorStage) async throws -> Void
    ) async throws {
        let keys = try TestKeys.make()
        defer { keys.remove() }
        let variables = database.variables.merging(keys.variables) { $1 }
        if working {
            try await AccountctlProcess.must(["worker", "--until-idle"], variables)
            // The worker seems to run still, because the test is about other findings.
            try await database.psql(
                "update accountctl.workers set stopped_at = null, stop_reason = null, expires_at = now() + interval '1 hour'"
            )
        }
        let folder = try TemporaryFolder("doctor").url
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(DoctorStage(database: database, variables: variables, folder: folder))
    }
}

/// A finding of the doctor, decoded from JSON.
struct DoctorFinding: Decodable {
    let severity: String
    let code: String
    let what: String
    let why: String?
    let todo: String?
}
