import Foundation
import TestSupport
import Testing

@Suite("Entries of other programs in the operators' log", .timeLimit(.minutes(5)))
struct ProgramLogTests {
    /// Runs a command that has to succeed, and returns its output.
    @discardableResult
    private func must(_ words: [String], _ stage: OperatorStage) async throws -> String {
        let result = try await stage.run(words)
        #expect(result.status == 0, "\(words): \(result.errors)")
        return result.output
    }

    private func counts(_ names: [String], in output: String) throws -> [Int?] {
        let told = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
        return names.map { told[$0] as? Int }
    }

    @Test("Such an entry decides nothing, and a line that names no request does not stop a replay")
    func replay() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let database = stage.database
            let (lost, paused) = (OperatorStage.id(1), OperatorStage.id(2))
            func request(of user: String) async throws -> String {
                try await database.psql("select id from accountctl.deletion_requests where user_id = '\(user)'")
            }
            try await must(["deletion", "request", paused, "--confirm=\(paused)"], stage)
            let backup = try await TableBackup(of: database)
            try await must(["deletion", "request", lost, "--confirm=\(lost)"], stage)
            try await must(["deletion", "pause", paused], stage)
            let list = try await must(["deletion", "export"], stage)
            let (lostRequest, pausedRequest) = (try await request(of: lost), try await request(of: paused))
            try await backup.restore(to: database)
            // Roles belong to the cluster, which other tests share.
            let login = "mailer_\(UUID().uuidString.prefix(8).lowercased())"
            try await database.psql("create role \(login) login in role accountctl_operator")
            try await database.psql(
                """
                select accountctl.log_operation('kim', 'deletion.request', facts => '{"replays": "\(lostRequest)"}');
                select accountctl.log_operation('kim', 'deletion.resume', facts => '{"request": "\(pausedRequest)"}');
                select accountctl.log_operation('kim', 'app.mail_sent');
                """,
                user: login
            )
            // Lines as in a log from before other programs were told apart.
            try await database.psql(
                """
                select accountctl.log_operation('kim', 'deletion.request', facts => '{"replays": "none"}');
                select accountctl.log_operation('kim', 'deletion.request', facts => '{"replays": null}');
                """
            )
            let dry = try await stage.run(["deletion", "replay", "-", "--dry-run", "--json"], input: list)
            #expect(dry.status == 0, "\(dry.errors)")
            #expect(try counts(["reopen", "pause", "decided"], in: dry.output) == [1, 1, 0], "\(dry.output)")
            let actions = """
                select string_agg(action, ' ' order by id) from accountctl.operator_log where database_role = '\(login)'
                """
            #expect(try await database.psql(actions) == "app.deletion.request app.deletion.resume app.mail_sent")
            try await database.psql("drop role \(login)")
        }
    }
}
