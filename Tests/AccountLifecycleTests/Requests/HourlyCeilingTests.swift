import Foundation
import Postgres
import Testing

@testable import AccountLifecycle

/// How many requests pass in an hour, and which of them count as waiting for the next.
@Suite(.timeLimit(.minutes(5))) struct HourlyCeilingTests {
    private func pass(_ count: Int, on stage: Stage) async throws {
        try await stage.sql(
            """
            insert into accountctl.deletion_requests (user_id, origin, run_after, legal_deadline, counted_at)
            select gen_random_uuid(), 'app', now(), now() + interval '1 month', clock_timestamp()
            from generate_series(1, \(count))
            """
        )
    }

    private func isReached(_ stage: Stage) async throws -> Bool {
        try await stage.pool.withConnection { try HourlyCeiling(configured: nil).lastStop(on: $0) } != nil
    }

    /// The default where nobody has set a ceiling: a mistake of an operator, or of the app, erases no more accounts
    /// than that in an hour.
    @Test func itIsFiftyOrAHundredthOfTheAccounts() async throws {
        try await Stage.with { stage in
            try await pass(49, on: stage)
            #expect(try await !isReached(stage))
            try await pass(1, on: stage)
            #expect(try await isReached(stage))
            try await stage.sql("update pg_class set reltuples = 6000 where oid = 'auth.users'::regclass")
            try await pass(9, on: stage)
            #expect(try await !isReached(stage))
            try await pass(1, on: stage)
            #expect(try await isReached(stage))
        }
    }

    /// A clock that was ahead for a year would otherwise keep everybody waiting for a year once it is set back; what
    /// was counted within an hour counts whichever way the clock went.
    @Test func whatWasCountedBeforeTheClockWasSetBackDoesNotKeepTheRoom() async throws {
        try await Stage.with { stage in
            try await pass(50, on: stage)
            let setting: Statement = "update accountctl.deletion_requests set counted_at = clock_timestamp() +"
            try await stage.sql("\(setting) interval '30 minutes'")
            #expect(try await isReached(stage))
            try await stage.sql("\(setting) interval '1 year'")
            #expect(try await !isReached(stage))
        }
    }

    /// A request that waits for an operator may do so for months, and takes no place in the queue.
    @Test func whoIsHeldByAnotherBrakeKeepsNobodyWaiting() async throws {
        try await Stage.with { stage in
            var requests: [UUID] = []
            for (code, days) in [("paused", 1), ("ceiling", 2)] {
                let request = try await stage.request(try await stage.signUp(code))
                try await stage.sql(
                    """
                    update accountctl.deletion_requests
                    set state = 'held',
                        situation = jsonb_build_object('code', \(code)::text),
                        legal_deadline = now() + \(days) * interval '1 day'
                    where id = \(request)
                    """
                )
                requests.append(request)
            }
            try await stage.sql("update accountctl.jobs set state = 'scheduled', run_at = now() + interval '1 hour'")
            let second = requests[1]
            let (stop, called) = try await stage.pool.withConnection { connection in
                let ceiling = HourlyCeiling(configured: 1)
                return (try ceiling.stop(second, on: connection), try ceiling.callNext(on: connection))
            }
            #expect(stop == nil)
            #expect(called == 1)
            let woken = try await stage.value(
                "select args ->> 'request' from accountctl.jobs where state = 'available'",
                as: String.self
            )
            #expect(woken == second.text)
        }
    }
}
