import Foundation
import TestSupport
import Testing

/// A site with one erased account, and a file with another hash key than the one the account was hashed with.
struct OtherKeySite: Sendable {
    let site: ErasureSite
    /// The id of the erased account.
    let account: String
    /// The id of an account that stays.
    let living: String
    private let keyPath: String

    static func with(keyNamed name: String, _ body: @Sendable (OtherKeySite) async throws -> Void) async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("other-\(UUID().uuidString)")
            try SecretFile.write(try TestKeys.line(name), to: path)
            defer { try? FileManager.default.removeItem(at: path) }
            let other = OtherKeySite(
                site: site,
                account: try await site.database.psql("select id from auth.users where email = 'stays2@example.com'"),
                living: try await site.database.psql("select id from auth.users where email = 'stays3@example.com'"),
                keyPath: path.path
            )
            let erased = try await other.runWithSitesKey(
                ["deletion", "rehearse", other.account, "--confirm=\(other.account)", "--no-input"]
            )
            #expect(erased.status == 0, "\(erased.errors)")
            try await body(other)
        }
    }

    /// Runs the program with the other key.
    func run(_ words: [String]) async throws -> AccountctlProcess.Result {
        let key = ["ACCOUNTCTL_KEYS_HASH_FILE": keyPath]
        return try await AccountctlProcess(words, environment: site.variables.merging(key) { $1 }).result()
    }

    /// Runs the program with the key that the account was hashed with.
    func runWithSitesKey(_ words: [String]) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(words, environment: site.variables).result()
    }
}
