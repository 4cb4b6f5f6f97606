import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct BrakeTests {
    @Test func aPauseOfEverythingHoldsBeforeEachIrreversibleStep() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            for step in DeletionStep.allCases where step.isIrreversible {
                let person = try await stage.fullAccount("p\(step.rawValue.prefix(3))")
                let request = try await stage.request(person)
                try await stage.driveToCrash(request, once: .before(step)) {
                    try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
                    throw SimulatedCrash()
                }
                try await stage.drive(request)
                #expect(try await stage.state(request) == "held", "before \(step)")
                #expect(try await stage.situation(request)?.code == .paused)
                #expect(try await stage.outcome(step, request) == nil, "\(step) was taken")
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
                #expect(try await stage.drive(request) == .ended(.verified))
            }
        }
    }

    /// A resume may have to wake a hundred thousand requests, so it holds no lock on the brakes meanwhile.
    @Test func aResumeDoesNotHoldTheBrakesWhileItWakes() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let request = try await stage.request(try await stage.signUp())
            try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
            try await stage.drive(request)
            try await stage.sql("update accountctl.jobs set state = 'scheduled', run_at = now() + interval '1 hour'")
            let resuming = try await stage.admin.withTransaction { connection in
                _ = try connection.query("select id from accountctl.jobs for update", as: Int64.self)
                let resuming = Task { try await stage.pool.withConnection { try await desk.resumeAll(on: $0) } }
                try await connection.waitUntilSomebodyIsBlocked()
                let isPaused = try connection.one(
                    "select paused_at is not null from accountctl.deletion_brakes for update nowait",
                    as: Bool.self
                )
                #expect(!isPaused)
                return resuming
            }
            #expect(try await resuming.value)
            #expect(try await stage.count("select from accountctl.jobs where state = 'available'") == 1)
        }
    }

    /// Requests that wait for another reason keep waiting; a second resume finishes what an interrupted one began.
    @Test func aResumeWakesAllThatThePauseHeldAndNoOthers() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            try await stage.sql(
                """
                with request as (
                    insert into accountctl.deletion_requests (user_id, origin, state, situation, run_after, legal_deadline)
                    select
                        gen_random_uuid(), 'app', 'held',
                        jsonb_build_object('code', case when g <= 2500 then 'paused' else 'ceiling' end),
                        now(), now() + interval '1 month'
                    from generate_series(1, 2600) as g
                    returning id
                )
                insert into accountctl.jobs (kind, queue, args, unique_key, state, run_at)
                select
                    'account.delete', 'deletions', jsonb_build_object('request', id), 'account.delete:' || id, 'scheduled',
                    now() + interval '1 hour'
                from request
                """
            )
            try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
            for _ in 0..<2 {
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
                #expect(try await stage.count("select from accountctl.jobs where state = 'available'") == 2500)
                try await stage.sql(
                    """
                    update accountctl.jobs set state = 'scheduled', run_at = now() + interval '1 hour'
                    where id in (select id from accountctl.jobs where state = 'available' limit 700)
                    """
                )
            }
        }
    }

    /// Jobs are locked in the same order as by operators who wake them: two different orders could deadlock.
    @Test func theCeilingLocksInTheOrderOfJobs() async throws {
        try await Stage.with { stage in
            // The first job comes last by its key, and by its time.
            for (id, hours) in [
                ("ffffffff-0000-0000-0000-000000000000", 2), ("00000000-0000-0000-0000-000000000000", 1),
            ] {
                try await stage.sql(
                    """
                    with request as (
                        insert into accountctl.deletion_requests
                            (id, user_id, origin, state, situation, run_after, legal_deadline)
                        values (\(id)::uuid, gen_random_uuid(), 'app', 'held', '{"code": "ceiling"}', now(), now() + interval '1 month')
                        returning id
                    )
                    insert into accountctl.jobs (kind, queue, args, unique_key, state, run_at)
                    select
                        'account.delete', 'deletions', '{}', 'account.delete:' || id, 'scheduled',
                        now() + \(Int32(hours)) * interval '1 hour'
                    from request
                    """
                )
            }
            let calling = try await stage.admin.withTransaction { connection in
                _ = try connection.query(
                    "select id from accountctl.jobs order by id limit 1 for update",
                    as: Int64.self
                )
                let calling = Task {
                    try await stage.pool.withTransaction { connection in
                        // Forces index scans, which the planner would avoid on so small a table.
                        try connection.execute(
                            "select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)"
                        )
                        return try HourlyCeiling(configured: 10).callNext(on: connection)
                    }
                }
                try await connection.waitUntilSomebodyIsBlocked()
                let last: Statement = "select max(id) from accountctl.jobs"
                let free: Statement = "select id from accountctl.jobs where id = (\(last)) for update skip locked"
                #expect(try connection.query(free, as: Int64.self).count == 1)
                return calling
            }
            #expect(try await calling.value == 2)
        }
    }

    @Test func aLegalHoldHoldsAndRefusesEveryOtherDelete() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.fullAccount()
            let holding = try await stage.pool.withConnection {
                try await desk.hold(person.id, reason: "court", on: $0)
            }
            #expect(holding == .held(1))
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .legalHold)
            let state = await sqlState { try await stage.sql("delete from auth.users where id = \(person.id)") }
            // A foreign key violation; from PostgreSQL 18 on, a restrict violation.
            #expect(state == "23503" || state == "23001")
            let released = try await stage.pool.withConnection {
                try await desk.release(person.id, reason: nil, on: $0)
            }
            #expect(released == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func theHourlyCeilingHoldsEvenWhenAllComeAtOnce() async throws {
        try await Stage.with { stage in
            var policy = Stage.swift
            policy.hourlyCeiling = 3
            var requests: [UUID] = []
            for index in 0..<6 { requests.append(try await stage.request(try await stage.signUp("p\(index)"))) }
            let ceiling = policy
            try await withThrowingTaskGroup(of: Void.self) { group in
                for request in requests { group.addTask { _ = try await stage.drive(request, ceiling) } }
                try await group.waitForAll()
            }
            #expect(try await stage.count("select from accountctl.deletion_requests where state = 'verified'") == 3)
            #expect(try await stage.count("select from accountctl.deletion_requests where state = 'held'") == 3)
            #expect(try await stage.count("select from auth.users") == 3)
            // Accounts that wait for the next hour are neither banned nor signed out.
            #expect(try await stage.count("select from auth.users where banned_until is not null") == 0)
            #expect(try await stage.count("select from auth.sessions") == 3)
            try await stage.sql("update accountctl.deletion_requests set counted_at = counted_at - interval '1 hour'")
            for request in requests { try await stage.drive(request, policy) }
            #expect(try await stage.count("select from accountctl.deletion_requests where state = 'verified'") == 6)
        }
    }

    /// Requests above the ceiling do nothing while they wait, and are called in the order of their legal deadlines.
    @Test func whoWaitsForTheCeilingIsCalledByDeadline() async throws {
        try await Stage.with { stage in
            var policy = Stage.swift
            policy.hourlyCeiling = 1
            var requests: [UUID] = []
            for index in 0..<4 { requests.append(try await stage.request(try await stage.signUp("p\(index)"))) }
            try await stage.drive(requests[0], policy)
            try await stage.sql(
                "update accountctl.deletion_requests set legal_deadline = now() + interval '2 days' where id = \(requests[2])"
            )
            for request in requests[1...] {
                try await stage.drive(request, policy)
                #expect(try await stage.situation(request)?.code == .ceiling)
                #expect(
                    try await stage.count(
                        "select from accountctl.deletion_requests where id = \(request) and sealed_identifiers is null"
                    ) == 1
                )
            }
            try await stage.sql(
                """
                update accountctl.jobs
                set state = 'scheduled', run_at = now() + interval '1 hour'
                """
            )
            let ceiling = HourlyCeiling(configured: 1)
            let early = try await stage.pool.withConnection { try ceiling.callNext(on: $0) }
            #expect(early == 0)
            try await stage.sql("update accountctl.deletion_requests set counted_at = counted_at - interval '1 hour'")
            let count = try await stage.pool.withConnection { try ceiling.callNext(on: $0) }
            #expect(count == 1)
            let called = try await stage.pool.withConnection {
                try $0.one("select args ->> 'request' from accountctl.jobs where state = 'available'", as: String.self)
            }
            #expect(called == requests[2].text)
            // Another request that checks the ceiling by itself meanwhile does not overtake the one that was called.
            try await stage.drive(requests[1], policy)
            #expect(try await stage.situation(requests[1])?.code == .ceiling)
            try await stage.drive(requests[2], policy)
            #expect(try await stage.state(requests[2]) == "verified")
        }
    }

    @Test func anOperatorTakesALockOutBackWhileNothingElseHasBegun() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            #expect(try await stage.count("select from auth.users where banned_until > now()") == 1)
            let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "mistake", on: $0) }
            #expect(act == .done)
            #expect(try await stage.count("select from auth.users where banned_until is not null") == 0)
            #expect(try await stage.drive(request) == .ended(.cancelled))
            let second = try await stage.request(person)
            try await stage.driveToCrash(second, SimulatedCrash.once(at: .after(.revokeApple)))
            guard
                case .refused = try await stage.pool.withConnection({
                    try await desk.cancel(second, reason: nil, on: $0)
                })
            else {
                Issue.record("cancelled after Apple was asked")
                return
            }
        }
    }

    /// A worker locks its job's row before the request's, and an operator who wakes the job locks them in the same
    /// order, so neither deadlocks the other.
    @Test func anActAndAStepDoNotWaitForEachOther() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            try await stage.sql("update accountctl.jobs set state = 'running', worker = 1, claimed_at = now()")
            let desk = stage.desk
            let act = try await stage.admin.withTransaction { worker in
                try worker.execute("select from accountctl.jobs for share")
                let act = Task {
                    try await stage.pool.withConnection { try await desk.retry(request, on: $0) }
                }
                try await worker.waitUntilSomebodyIsBlocked()
                try worker.execute(
                    "select from accountctl.deletion_requests where id = \(request) for no key update"
                )
                return act
            }
            let outcome = try await act.value
            #expect(outcome == .done)
            let isWoken = try await stage.value("select run_at > claimed_at from accountctl.jobs", as: Bool.self)
            #expect(isWoken)
        }
    }
}
