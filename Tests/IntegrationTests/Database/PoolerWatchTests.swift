import Foundation
import TestSupport
import Testing

@Suite("Watches behind a transaction pooler", .timeLimit(.minutes(5)))
struct PoolerWatchTests {
    private static let anna = OperatorStage.id(1)

    @Test("They poll without LISTEN, and end with the outcome", arguments: ["detect", "transaction"])
    func watches(_ pooler: String) async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let database = stage.database
            let request = try await database.psql(
                "select request_id from accountctl.open_deletion_request('\(Self.anna)', 'app')"
            )
            try await PgBouncer.with(.transaction, poolSize: 2, to: database.cluster) { bouncer in
                let variables = stage.variables.merging([
                    "PGHOST": "127.0.0.1", "PGPORT": "\(bouncer.port)", "ACCOUNTCTL_DATABASE_POOLER": pooler,
                ]) { $1 }
                func follow(_ words: String...) throws -> AccountctlProcess {
                    try AccountctlProcess(words + ["--format", "ndjson"], environment: variables)
                }
                let jobs = try follow("jobs", "watch", "--queue", "mail", "--log-level", "debug")
                let user = try follow("user", "watch", Self.anna)
                let deletion = try follow("deletion", "watch", request)
                defer { for process in [jobs, user, deletion] { process.signal(SIGKILL) } }
                #expect(try await user.waitForOutput(containing: #""state":"deletion_grace""#), "\(user.errorsSoFar)")
                #expect(try await deletion.waitForOutput(containing: #""state":"grace""#), "\(deletion.errorsSoFar)")
                #expect(try await jobs.waitForErrors(containing: "polling only"), "\(jobs.errorsSoFar)")
                try await database.psql("select accountctl.enqueue_job('some.kind', queue => 'mail')")
                #expect(try await jobs.waitForOutput(containing: #""kind":"some.kind""#), "\(jobs.errorsSoFar)")
                let listening = """
                    select count(*) from pg_stat_activity
                    where datname = current_database() and query ilike 'listen%'
                    """
                #expect(try await database.psql(listening) == "0")
                try await database.psql("select accountctl.cancel_deletion_request('\(request)')")
                let cancelled = try await deletion.result()
                #expect(cancelled.status == 6, "\(cancelled.errors)")
                #expect(try await user.waitForOutput(containing: #""state":"active""#), "\(user.errorsSoFar)")
                try await database.psql("delete from auth.users where id = '\(Self.anna)'")
                let gone = try await user.result()
                #expect(gone.status == 3 && gone.output.contains(#""not_found""#), "\(gone.errors)")
                jobs.signal(SIGTERM)
                #expect(try await jobs.result().status == -SIGTERM)
            }
        }
    }
}
