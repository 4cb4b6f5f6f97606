import Foundation
import TestSupport
import Testing

/// A migrated database, a folder, and the variables by which the program uses both as an operator would.
struct OperatorStage: Sendable {
    let database: TestDatabase
    let folder: URL
    let variables: [String: String]

    /// Makes the stage, with as many accounts, for the duration of a closure.
    static func with(accounts: Int = 0, _ body: @Sendable (OperatorStage) async throws -> Void) async throws {
        try await TestDatabase.with(.migrated) { database in
            let folder = try TemporaryFolder("operator").url
            defer { try? FileManager.default.removeItem(at: folder) }
            let key = folder.appendingPathComponent("hash.key")
            try TestKeys.line("hash").write(to: key, atomically: true, encoding: .utf8)
            let variables = ["ACCOUNTCTL_KEYS_HASH_FILE": key.path, "ACCOUNTCTL_OPERATOR": "olga"]
            let stage = OperatorStage(
                database: database,
                folder: folder,
                variables: database.variables.merging(variables) { $1 }
            )
            if accounts > 0 { try await stage.addAccounts(accounts) }
            try await body(stage)
        }
    }

    /// The id of the account of this number.
    static func id(_ number: Int) -> String {
        "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
    }

    /// Makes accounts `id(1)` to `id(count)`, with the addresses `u1@example.com` and so on.
    func addAccounts(_ count: Int) async throws {
        try await database.psql(
            """
            insert into auth.users (instance_id, id, email, created_at)
            select '00000000-0000-0000-0000-000000000000',
                ('00000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid, 'u' || g || '@example.com', now()
            from generate_series(1, \(count)) as g
            """
        )
    }

    /// Runs the program to its end.
    func run(
        _ arguments: [String],
        as role: String? = nil,
        input: String? = nil
    ) async throws -> AccountctlProcess.Result {
        let own = role.map { ["PGUSER": $0] } ?? [:]
        return try await AccountctlProcess(arguments, environment: variables.merging(own) { $1 }, input: input).result()
    }

    /// Requests the deletion of an account, and returns the id of the request.
    @discardableResult
    func request(_ id: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let words = ["deletion", "request", id, "--confirm=\(id)", "--tsv", "request"]
        return try await AccountctlProcess.must(words, variables, sourceLocation: sourceLocation)
            .trimmingCharacters(in: .newlines)
    }

    /// Writes a file of the folder, and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        let path = self.path(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// A path in the folder.
    func path(_ name: String) -> String {
        folder.appendingPathComponent(name).path
    }
}
