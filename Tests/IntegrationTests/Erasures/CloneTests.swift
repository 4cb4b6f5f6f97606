import Foundation
import TestSupport
import Testing

/// A clone of the production database, used with the other settings of production unchanged.
@Suite("A clone", .timeLimit(.minutes(5)))
struct CloneTests {
    @Test("Nothing outside the clone is deleted on its behalf until an operator resumes deletions")
    func clone() async throws {
        try await ErasureSite.with(accounts: 2) { site in
            // A worker of production has run before, and two requests are open when the database is cloned.
            for words in [
                ["deletion", "pause", "--all"], ["worker", "--until-idle"],
                ["deletion", "resume", "--all", "--confirm=all"],
            ] {
                let result = try await AccountctlProcess(words, environment: site.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            let clone = "clone_" + UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
            let cluster = site.database.cluster
            // Ends the connections that the stand-in for Storage keeps open.
            try await cluster.psql(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = '\(site.database.name)'"
            )
            try await cluster.psql("create database \(clone) template \(site.database.name) owner postgres")
            let variables = site.variables.mapValues { $0.replacingOccurrences(of: site.database.name, with: clone) }
            // Commands that an operator runs are refused, too, even before any worker has seen the clone.
            let account = try await site.database.psql("select id from auth.users limit 1")
            for words in [["avatars", "sweep"], ["deletion", "rehearse", account, "--confirm=\(account)"]] {
                let refused = try await AccountctlProcess(words, environment: variables).result()
                #expect(refused.status == 6 && refused.errors.contains("the database was"), "\(words): \(refused)")
            }
            let worked = try await AccountctlProcess(["worker", "--until-idle"], environment: variables).result()
            #expect(worked.status == 0, "\(worked.errors)")
            #expect(worked.errors.contains("the database was"), "\(worked.errors)")
            let states = "select state, situation ->> 'code', count(*) from accountctl.deletion_requests group by 1, 2"
            let state = try await cluster.psql(database: clone, user: "supabase_admin", states)
            #expect(state == "held|paused|2")
            #expect(try await site.database.psql("select count(*) from storage.objects") == "7")
            let brakes = "select paused_by || ': ' || paused_reason from accountctl.deletion_brakes"
            let told = try await cluster.psql(database: clone, user: "supabase_admin", brakes)
            #expect(told.hasPrefix("accountctl worker: the database was"), "\(told)")
            let resume = ["deletion", "resume", "--all", "--confirm=all"]
            let resumed = try await AccountctlProcess(resume, environment: variables).result()
            #expect(resumed.status == 0, "\(resumed.errors)")
            // Deletions in the original go on.
            let left = try await AccountctlProcess(["worker", "--until-idle"], environment: site.variables).result()
            #expect(left.status == 0 && !left.errors.contains("the database was"), "\(left.errors)")
            try await site.expectAllErased()
            _ = try await cluster.psql("drop database \(clone) with (force)")
        }
    }
}
