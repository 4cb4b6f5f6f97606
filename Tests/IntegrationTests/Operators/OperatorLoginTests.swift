import Foundation
import TestSupport
import Testing

@Suite("A login for each operator", .timeLimit(.minutes(5)))
struct OperatorLoginTests {
    @Test("The two statements of the documentation make a login that may do everything, and the log names it")
    func personal() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let block = try #require(
                try Document.wholeText().components(separatedBy: "```sql\n").first { $0.hasPrefix("create role kim") }
            )
            let statements = try #require(block.components(separatedBy: "```").first)
            // Roles belong to the cluster, which other tests share.
            let login = "kim_\(UUID().uuidString.prefix(8).lowercased())"
            let own = statements.replacingOccurrences(of: "kim", with: login)
            if try await stage.database.psql("select current_setting('server_version_num')::int < 160000") == "t" {
                try await stage.database.psql(own, user: "postgres")
            } else {
                let refused = await #expect(throws: TestSupportError.self) {
                    try await stage.database.psql(own, user: "postgres")
                }
                #expect(try #require(refused).description.contains("Only roles with the ADMIN option"))
                try await stage.database.psql(own)
            }
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

    @Test("A login without the rights is refused with that reason by every command, and nothing is done")
    func powerless() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let login = "weak_\(UUID().uuidString.prefix(8).lowercased())"
            try await stage.database.psql("create role \(login) login")
            let id = OperatorStage.id(1)
            for words in [
                ["user", "find", id], ["user", "list"], ["user", "show", id], ["user", "sign-out", id],
                ["user", "export", id, "--dry-run", "--without-files"], ["audit", "list"], ["jobs", "list"],
                ["relay", "addresses"], ["deletion", "list"], ["avatars", "sweep"],
            ] {
                let refused = try await stage.run(words, as: login)
                #expect(refused.status == 4 && refused.output.isEmpty, "\(words): \(refused.errors)")
                #expect(refused.errors.contains("postgres"), "\(words): \(refused.errors)")
            }
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
            try await stage.database.psql("drop role \(login)")
        }
    }
}
