import Postgres
import TestSupport
import Testing

@Suite("A legal hold that is placed while a worker comes to a step that cannot be undone", .timeLimit(.minutes(5)))
struct OperatorHoldRaceTests {
    @Test(
        "It waits for the worker that is about to ask Apple, and then says whether it came too late",
        arguments: [true, false]
    )
    func atTheFence(_ asks: Bool) async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            try await stage.database.psql(
                """
                with request as (
                    insert into accountctl.deletion_requests (user_id, origin, state, run_after, legal_deadline, locked_out_at)
                    values ('\(id)', 'app', 'running', now(), now() + interval '1 month', now())
                    returning id
                ),
                job as (
                    insert into accountctl.jobs (kind, queue, args, unique_key)
                    select 'account.delete', 'deletions', jsonb_build_object('request', id), 'account.delete:' || id
                    from request
                )
                insert into accountctl.deletion_steps (request_id, step, runs, started_at)
                select id, step, 1, now()
                from request, unnest(array['lock_out', 'revoke_apple']) as step
                """
            )
            let holding = try await stage.database.withConnection(asAdministrator: true) { worker in
                try await worker.transaction { worker in
                    // Locks the job as the fence of a worker's transaction does.
                    try worker.execute("select from accountctl.jobs for share")
                    let holding = Task { try await stage.run(["user", "hold", id, "--reason", "court", "--yes"]) }
                    try await worker.waitUntilSomebodyIsBlocked()
                    if asks {
                        try worker.execute(
                            "update accountctl.deletion_steps set facts = '{}' where step = 'revoke_apple'"
                        )
                    }
                    return holding
                }
            }
            let held = try await holding.value
            #expect(held.status == 0 && held.errors.contains("Done: held."), "\(held)")
            #expect(held.errors.contains("these steps have begun and are not undone: revoke_apple") == asks, "\(held)")
            let cancelled = try await stage.run(["deletion", "cancel", id])
            #expect(cancelled.status == (asks ? 6 : 0), "\(cancelled)")
        }
    }
}
