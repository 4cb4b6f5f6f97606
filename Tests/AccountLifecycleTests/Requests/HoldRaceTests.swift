import Foundation
import JobQueue
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Races between a legal hold and a worker that comes to what nobody can undo: either the hold is in time and nothing
/// has begun for good, or its operator is told that it is late; never both.
@Suite(.timeLimit(.minutes(5))) struct HoldRaceTests {
    /// The worker locks its job's row until it has recorded that it asks Apple, or has decided not to.
    @Test(arguments: [true, false])
    func aHoldThatWaitsForAWorkersFenceIsInTimeOrToldThatItIsLate(_ commits: Bool) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.revokeApple)))
            let fence = try await stage.claim("account.delete")
            let journal = DeletionJournal(request: request, fence: fence)
            let desk = stage.patientDesk
            let holding = try await stage.admin.withTransaction { worker in
                try journal.fenceFlushing(worker)
                let holding = Task {
                    try await stage.pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
                }
                try await worker.waitUntilSomebodyIsBlocked()
                if commits { try journal.commit(to: .revokeApple, on: worker) }
                return holding
            }
            let told = try await holding.value
            #expect(told == (commits ? .heldLate(1, state: .running, done: [.revokeApple]) : .held(1)))
            try await stage.expectHeld(request, fence, cancels: commits ? .refused(.begun(step: .revokeApple)) : .done)
        }
    }

    /// Two operators act on the same court order: the account has no request, and so no job that both would lock.
    @Test func twoHoldsForOneReasonAtOnceAreOne() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let desk = stage.patientDesk
            let (first, second) = try await stage.admin.withTransaction { operating in
                let first = try await desk.hold(person.id, reason: "court", on: operating)
                let second = Task {
                    try await stage.pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
                }
                try await operating.waitUntilSomebodyIsBlocked()
                return (first, second)
            }
            let told = try await second.value
            #expect(first == .held(1))
            #expect(told == .unchanged(1))
        }
    }

    /// The hold's own row then refuses the delete, but is not a row for an operator to clear away.
    @Test(arguments: [DeletionPoint.before(.preflight), .begun(.preflight)])
    func aHoldThatComesDuringThePreflightIsToldAsOne(_ point: DeletionPoint) async throws {
        try await Stage.with { stage in
            try await stage.haveDeletesTried()
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            _ = try await stage.drive(request, once: point) {
                try await stage.pull(.held, on: person, request)
            }
            #expect(try await stage.state(request) == "held")
            #expect(try await stage.situation(request)?.code == .legalHold)
        }
    }

    /// A trigger inserts the hold, at the only moment that is late enough.
    @Test func aHoldThatTheLastTrialMeetsIsToldAsOne() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.revokeApple)))
            for statement in [
                """
                create function public.hold() returns trigger language plpgsql as $$
                begin
                    insert into accountctl.holds (user_id, reason, placed_by) values (old.id, 'court', 'test');
                    return old;
                end $$
                """,
                "create trigger hold before delete on public.profiles for each row execute function public.hold()",
            ] as [Statement] { try await stage.sql(statement) }
            try await stage.leaveUntried()
            try await stage.drive(request)
            #expect(try await stage.state(request) == "held")
            #expect(try await stage.situation(request)?.code == .legalHold)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    @Test func aPlanOfAHeldAccountNamesTheHoldAlone() async throws {
        try await Stage.with { stage in
            try await stage.haveDeletesTried()
            let person = try await stage.fullAccount()
            let desk = stage.desk
            let preview = try await stage.pool.withConnection { connection in
                _ = try await desk.hold(person.id, reason: "court", on: connection)
                return try await DeletionPreview.read(
                    person.id,
                    policy: Stage.swift,
                    asksTriggers: true,
                    on: connection
                )
            }
            #expect(preview?.obstacles.map(\.code) == [.legalHold])
            #expect(preview?.untried.map(\.description).contains("public.profiles.pass") == true)
        }
    }

    /// For an account without a grant at Apple the step has nothing to ask: it ends at once, after which nobody can
    /// cancel.
    @Test func aStepThatWaitsForAHoldDoesNotEndBehindIt() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .before(.revokeApple)))
            let fence = try await stage.claim("account.delete")
            let desk = stage.patientDesk
            let driver = DeletionDriver(stage.services())
            let (holding, drive) = try await stage.admin.withTransaction { operating in
                let holding = try await desk.hold(person.id, reason: "court", on: operating)
                let drive = Task { try await driver.drive(request, fence: fence) }
                try await operating.waitUntilSomebodyIsBlocked()
                return (holding, drive)
            }
            _ = try await drive.value
            #expect(holding == .held(1))
            try await stage.expectHeld(request, fence, cancels: .done)
        }
    }

    /// Without grace the request is opened, and the account locked out, while the hold waits for the lock on the
    /// account's row.
    @Test func aHoldKnowsARequestThatWasOpenedWhileItWaited() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = UUID()
            let desk = stage.patientDesk
            let (held, fenced) = AsyncStream.makeStream(of: Void.self)
            let (holding, worker) = try await stage.admin.withTransaction { lockingOut in
                try lockingOut.execute("select from auth.users where id = \(person.id) for update")
                let holding = Task {
                    try await stage.pool.withConnection { try await desk.hold(person.id, reason: "court", on: $0) }
                }
                try await lockingOut.waitUntilSomebodyIsBlocked()
                try await stage.openLockedOut(request, of: person)
                let journal = DeletionJournal(request: request, fence: try await stage.claim("account.delete"))
                let worker = Task {
                    defer { fenced.finish() }
                    try await stage.admin.withTransaction { worker in
                        try journal.fenceFlushing(worker)
                        fenced.finish()
                        try await worker.waitUntilSomebodyIsBlocked()
                        try journal.commit(to: .revokeApple, on: worker)
                    }
                }
                for await _ in held {}
                return (holding, worker)
            }
            let told = try await holding.value
            try await worker.value
            #expect(told == .heldLate(1, state: .running, done: [.revokeApple]))
        }
    }
}

extension Stage {
    /// Creates a trigger that might refuse, so that deletes are tried.
    fileprivate func haveDeletesTried() async throws {
        for statement in [
            "create function public.pass() returns trigger language plpgsql as $$ begin return old; end $$",
            "create trigger pass before delete on public.profiles for each row execute function public.pass()",
        ] as [Statement] { try await sql(statement) }
    }

    /// The desk of an operator who is patient enough for a machine that stalls.
    fileprivate var patientDesk: DeletionDesk {
        DeletionDesk(Operator(name: "test", hashKey: vault.hashKey), patience: .seconds(60))
    }

    /// Lets the worker continue, which finds the hold: Apple is not asked, and a cancellation is answered with
    /// `answer`.
    fileprivate func expectHeld(
        _ request: UUID,
        _ fence: JobFence,
        cancels answer: DeletionDesk.Act
    ) async throws {
        _ = try await DeletionDriver(services()).drive(request, fence: fence)
        #expect(try await situation(request)?.code == .legalHold)
        #expect(sandbox.journal.count(.appleRevoke) == 0)
        #expect(try await outcome(.revokeApple, request) == nil)
        let act = try await pool.withConnection { [patientDesk] in
            try await patientDesk.cancel(request, reason: "test", on: $0)
        }
        #expect(act == answer)
    }

    /// Creates a request, its job, and the lock-out, as they are once a worker has reached it.
    fileprivate func openLockedOut(_ request: UUID, of person: Person) async throws {
        try await sql(
            """
            with request as (
                insert into accountctl.deletion_requests (id, user_id, origin, state, run_after, legal_deadline, locked_out_at)
                values (\(request), \(person.id), 'app', 'running', now(), now() + interval '1 month', now())
                returning id
            )
            insert into accountctl.jobs (kind, queue, args, unique_key)
            select 'account.delete', 'deletions', jsonb_build_object('request', id), 'account.delete:' || id
            from request
            """
        )
    }
}
