import Foundation
import TestSupport
import Testing

/// The numbers of receipts after a restore, which takes their sequence back.
@Suite("Numbers of receipts", .timeLimit(.minutes(5)))
struct ReceiptNumberTests {
    @Test("After a replay no receipt gets a number that the list names, also where nothing is left to repeat")
    func afterARestore() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let database = site.database
            func must(_ words: [String]) async throws -> AccountctlProcess.Result {
                let result = try await AccountctlProcess(words, environment: site.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
                return result
            }
            func setLast(_ number: Int) async throws {
                try await database.psql("select setval('accountctl.deletion_receipts_number_seq', \(number))")
            }
            let last = "select last_value from accountctl.deletion_receipts_number_seq"
            let account = try await database.psql("select id from auth.users where email = 'stays1@example.com'")
            let backup = try await TableBackup(of: database)
            try await setLast(139)
            _ = try await must(["deletion", "rehearse", account, "--confirm=\(account)", "--no-input"])
            let number = "select number from accountctl.deletion_receipts"
            #expect(try await database.psql(number) == "140")
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("list-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await must(["deletion", "export"]).output.write(toFile: path, atomically: true, encoding: .utf8)
            try await backup.restore(to: database)
            try await setLast(100)

            let replay = ["deletion", "replay", path]
            _ = try await must(replay + ["--dry-run"])
            #expect(try await database.psql(last) == "100")
            #expect(try await must(replay + ["--confirm=1"]).errors.contains("above 140"))
            _ = try await must(["worker", "--until-idle"])
            #expect(try await database.psql(number) == "141")
            // Never down; and done again, where nothing is left to repeat.
            for (before, after) in [(200, "200"), (100, "140")] {
                try await setLast(before)
                _ = try await must(replay)
                #expect(try await database.psql(last) == after)
            }
        }
    }
}
