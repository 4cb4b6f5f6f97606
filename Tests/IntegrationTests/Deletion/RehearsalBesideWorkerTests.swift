import Foundation
import TestSupport
import Testing

@Suite("Rehearsals beside a worker", .timeLimit(.minutes(5)))
struct RehearsalBesideWorkerTests {
    @Test("A rehearsal keeps its account from a running worker for as long as the operator looks")
    func rehearsalBesideWorker() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let account = try await site.database.psql("select id from auth.users where email = 'stays2@example.com'")
            let other = try await site.database.psql("select id from auth.users where email = 'stays3@example.com'")
            let begun =
                "select string_agg(step || s.runs, ' ' order by started_at) from accountctl.deletion_steps as s"
                + " join accountctl.deletion_requests as r on r.id = request_id where r.reason = 'rehearsal'"
            // The limits are generous: a slow call must not cause a second run of a step, nor a late heartbeat a lost
            // lease.
            let patient = ["ACCOUNTCTL_WORKER_LEASE": "15s", "ACCOUNTCTL_STORAGE_TIMEOUT": "10s"]
            try await site.withWorker(patient) { worker in
                let words = ["deletion", "rehearse", account, "--confirm=\(account)", "--no-pager"]
                let environment = site.variables.merging(patient) { $1 }
                let result = try await TerminalSession.live(words, environment: environment) { person in
                    #expect(try await person.waits(for: "preflight: nothing was touched"), "\(person.screen)")
                    // Meanwhile the worker completes a request that was opened later, and a lease has time to expire.
                    let asked = try await site.deletion([
                        "request", other, "--confirm=\(other)", "--grace", "0",
                    ])
                    #expect(asked.status == 0, "\(asked.errors)")
                    try await site.database.waitUntil(
                        "exists (select from accountctl.deletion_requests where state = 'verified')",
                        changes: "accountctl.deletion_requests"
                    )
                    try await site.database.waitUntil(
                        """
                        exists (
                            select from accountctl.workers
                            where kinds = '{}' and beat_at > started_at + interval '16 s'
                        )
                        """,
                        changes: "accountctl.workers"
                    )
                    #expect(try await site.database.psql(begun) == "preflight1")
                    let second = try await site.deletion(["rehearse", account, "--confirm=\(account)", "--no-input"])
                    #expect(second.status == 6, "\(second.errors)")
                    let look = try await site.deletion(["rehearse", account, "--dry-run"])
                    #expect(
                        look.status == 6 && look.errors.contains("already being worked on, by rehearsal by"),
                        "\(look)"
                    )
                    for step in ["lock_out", "revoke_apple", "delete_avatars", "delete_rows", "scrub_auth", "verify"] {
                        try person.type("\n")
                        #expect(try await person.waits(for: "\(step): "), "\(person.screen)")
                    }
                    try person.type("\n\n\n\n")
                }
                #expect(result.status == 0, "\(result.screen)")
                #expect(result.screen.contains("verified"), "\(result.screen)")
                worker.signal(SIGTERM)
                #expect(try await worker.result().status == 0)
            }
            let runs = "select count(*), max(runs) from accountctl.deletion_steps"
            #expect(try await site.database.psql(runs) == "18|1")
            let receipts = "select count(*) from accountctl.deletion_receipts"
            #expect(try await site.database.psql(receipts) == "2")
            // The job of the rehearsal is handed back, and a worker finds nothing left to do.
            let left = try await AccountctlProcess.run("worker", "--until-idle", environment: site.variables)
            #expect(left.status == 0, "\(left.errors)")
            let jobs = "select count(*) from accountctl.jobs where kind = 'account.delete'"
            #expect(try await site.database.psql(jobs) == "0")
        }
    }
}
