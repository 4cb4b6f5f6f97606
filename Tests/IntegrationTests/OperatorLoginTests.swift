import Foundation
import TestSupport
import Testing

@Suite("A login for each operator")
struct OperatorLoginTests {
    @Test("The README's two statements make one that may do everything, and the log says which it was")
    func personal() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            let readme = try String(contentsOfFile: Repository.path("README.md"), encoding: .utf8)
            let block = try #require(
                readme.components(separatedBy: "```sql\n").first { $0.hasPrefix("create role kim") }
            )
            let statements = try #require(block.components(separatedBy: "```").first)
            // Roles are the cluster's, which other tests share.
            let login = "kim_\(UUID().uuidString.prefix(8).lowercased())"
            try await stage.database.psql(statements.replacingOccurrences(of: "kim", with: login), user: "postgres")
            let id = OperatorStage.id(1)
            for words in [
                ["user", "show", id, "--reveal"], ["user", "sign-out", id],
                ["user", "hold", id, "--reason", "court", "--yes"],
                ["deletion", "pause", "--all", "--yes"],
            ] {
                let act = try await stage.run(words, as: login)
                #expect(act.status == 0, "\(words): \(act.errors)")
            }
            let logged = "select distinct operator || ' ' || database_role from accountctl.operator_log"
            #expect(try await stage.database.psql(logged) == "olga \(login)")
            try await stage.database.psql("drop role \(login)")
        }
    }
}
