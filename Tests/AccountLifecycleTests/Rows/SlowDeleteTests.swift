import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing
import Waiting

@testable import AccountLifecycle

/// Deletes that take long: half an hour is allowed, and nobody else has to wait for them.
@Suite(.timeLimit(.minutes(5))) struct SlowDeleteTests {
    /// A policy under which every delete has to wait for a permit, and none is cut short.
    private static var slow: DeletionPolicy {
        var policy = Stage.swift
        policy.briefly = .zero
        return policy
    }

    private func desk(_ stage: Stage) -> DeletionDesk {
        DeletionDesk(Operator(name: "test", hashKey: stage.vault.hashKey), patience: .milliseconds(300))
    }

    @Test func othersAreLockedOutMeanwhile() async throws {
        try await Stage.with { stage in
            try await stage.makeGate()
            let request = try await stage.request(try await stage.fullAccount("anna"))
            let other = try await stage.request(try await stage.signUp("berta", apple: false))
            // The gate is not closed yet: the trial of this account's own delete would wait there, too.
            try await stage.driveToCrash(other, SimulatedCrash.once(at: .before(.lockOut)))
            let drive = try await stage.driveToTheGate(request, Self.slow)
            try await stage.driveToCrash(other, SimulatedCrash.once(at: .after(.lockOut)))
            #expect(try await stage.outcome(.lockOut, other) == "ok")
            try await stage.openGate()
            #expect(try await drive.value == .ended(.verified))
        }
    }

    /// The pause takes effect at once, and names the request whose step is under way.
    @Test func everythingCanBePausedMeanwhile() async throws {
        try await Stage.with { stage in
            try await stage.makeGate()
            let request = try await stage.request(try await stage.fullAccount("anna"))
            let drive = try await stage.driveToTheGate(request, Self.slow)
            let underWay = try await stage.pool.withConnection { connection in
                try await desk(stage).pauseAll(reason: "test", on: connection).underWay
            }
            #expect(underWay == [StepUnderWay(request: request, step: .deleteRows)])
            let isPaused: Statement = "select from accountctl.deletion_brakes where paused_at is not null"
            #expect(try await stage.count(isPaused) == 1)
            try await stage.openGate()
            _ = try await drive.value
            #expect(try await stage.outcome(.deleteRows, request) == "ok")
            #expect(try await stage.outcome(.scrubAuth, request) == nil)
            #expect(try await stage.situation(request)?.code == .paused)
        }
    }

    @Test func aPauseOfEverythingWaitsForADeleteThatEndsSoon() async throws {
        try await Stage.with { stage in
            try await stage.makeGate()
            let request = try await stage.request(try await stage.fullAccount("anna"))
            let drive = try await stage.driveToTheGate(request, Self.slow)
            let patient = DeletionDesk(Operator(name: "test", hashKey: stage.vault.hashKey), patience: .seconds(30))
            let pause = Task {
                try await stage.pool.withConnection { try await patient.pauseAll(reason: "test", on: $0).underWay }
            }
            try await stage.database.waitUntilBlocked(sessions: 1)
            try await stage.openGate()
            #expect(try await pause.value == [])
            _ = try await drive.value
            #expect(try await stage.situation(request)?.code == .paused)
        }
    }

    @Test func whoeverActsOnItIsToldInsteadOfWaiting() async throws {
        try await Stage.with { stage in
            try await stage.makeGate()
            let person = try await stage.fullAccount("anna")
            let request = try await stage.request(person)
            let drive = try await stage.driveToTheGate(request, Self.slow)
            let why = DeletionRefusal.underWay(step: .deleteRows, request: request)
            let desk = desk(stage)
            let acts = try await stage.pool.withConnection { connection in
                [
                    try await desk.pause(request, reason: "test", on: connection),
                    try await desk.cancel(request, reason: "test", on: connection),
                ]
            }
            #expect(acts == [.refused(why), .refused(why)])
            let holding = try await stage.pool.withConnection { connection in
                try await desk.hold(person.id, reason: "court", on: connection)
            }
            #expect(holding == .notNow(why))
            try await stage.openGate()
            #expect(try await drive.value == .ended(.verified))
        }
    }

    /// Three slow deletes at once would hold every connection that work may use.
    @Test func aConnectionStaysForEverythingElse() async throws {
        try await Stage.with { stage in
            try await stage.makeGate()
            var requests: [UUID] = []
            for name in ["anna", "berta", "clara"] {
                let request = try await stage.request(try await stage.signUp(name, apple: false))
                try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
                requests.append(request)
            }
            try await stage.closeGate()
            // As in the product, a delete that turns out to be slow starts again with a permit.
            var policy = Stage.swift
            policy.briefly = .milliseconds(500)
            let services = stage.services(policy)
            let drives = requests.map { request in
                Task { try await DeletionDriver(services).drive(request) }
            }
            try await stage.database.waitUntilAsleep(sessions: 2)
            try await eventually("the third waits") { services.passes.waitingCount > 0 }
            let answer = try await stage.pool.withConnection { try $0.one("select 1", as: Int.self) }
            #expect(answer == 1)
            try await stage.openGate()
            for drive in drives { #expect(try await drive.value == .ended(.verified)) }
        }
    }

    /// A trial that waited for its turn is made by the plan of that moment: a former one would tell nothing.
    @Test func tablesMayChangeWhileATrialWaits() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.lockOut)))
            try await stage.refuseUntried("P0001")
            let services = stage.services()
            let drive = try await services.passes.with(upTo: services.passes.total) { _ in
                let drive = Task { try await DeletionDriver(services).drive(request) }
                try await eventually("the trial waits") { services.passes.waitingCount > 0 }
                try await stage.sql("alter table public.profiles rename id to account")
                return drive
            }
            _ = try await drive.value
            #expect(try await stage.situation(request)?.code == .refusingTrigger)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
        }
    }

    /// A row to which a large table refers without an index costs the server a scan of that table, and a thousand of
    /// them half an hour.
    @Test func aBatchThatTakesTooLongIsFollowedBySmallerOnes() async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            let person = try await stage.signUp()
            try await stage.addPosts(250, of: person)
            try await stage.limitDeletes(from: "public.posts", to: 30)
            var policy = Stage.swift
            policy.batchRows = 100
            let request = try await stage.erase(person, policy)
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 250)
        }
    }

    /// The table is small, and yet the account's last transaction would take too long each time.
    ///
    /// Once the table is empty, the account goes at once, not with a later attempt.
    @Test func rowsOfWhateverTableGoInBatchesOnceTheLastTransactionTakesTooLong() async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            let person = try await stage.signUp(apple: false)
            try await stage.addPosts(50, of: person)
            try await stage.limitDeletes(from: "public.posts", to: 30)
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.counts(of: .deleteRows, request) == ["users": 1, "batched_rows": 50])
        }
    }

    /// Where no row can go beforehand, the next attempt would take as long, and waits.
    @Test func aLastTransactionThatTakesTooLongWithoutSuchRowsIsTriedLater() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUpWithoutProfile()
            try await stage.limitDeletes(from: "auth.users", to: 0)
            let request = try await stage.request(person)
            let told = Situation(.failing, detail: "delete_rows: SQLSTATE 57014")
            #expect(try await stage.drive(request) == .failed(after: .seconds(30), told))
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
        }
    }

    /// Behind a transaction pooler our session limits do not apply: the server's own limit ended the delete, and the
    /// trigger was blamed.
    @Test func behindATransactionPoolerALongDeleteIsNoRefusal() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create function public.dawdle() returns trigger language plpgsql as
                $$ begin perform pg_sleep(5.5); return old; end $$
                """
            )
            try await stage.sql(
                "create trigger dawdle before delete on public.profiles for each row execute function public.dawdle()"
            )
            let request = try await stage.request(try await stage.signUp("anna", apple: false))
            // JIT compilation of the catalog query takes seconds on a busy machine.
            for setting in ["statement_timeout = '5s'", "jit = off"] as [Statement] {
                try await stage.sql(
                    "alter role postgres in database \(identifier: stage.database.name) set \(setting)"
                )
            }
            var own = PoolConfiguration(connection: stage.database.configuration)
            own.connection.pooler = .transaction
            own.maximumConnections = 3
            let untried: Statement = "select facts -> 'untried' from accountctl.deletion_steps where step = 'preflight'"
            try await Pool.withPool(own, logger: .silent) { pool in
                var policy = Stage.swift
                // The delete ends within this time, and does not start again.
                policy.briefly = .seconds(15)
                let services = stage.services(policy, pool: pool) { point in
                    guard point == .after(.preflight) else { return }
                    let names = try await stage.value(untried, as: JSON<[String]>?.self)?.value
                    #expect(names == ["public.profiles.dawdle"])
                }
                let pause = try await DeletionDriver(services).drive(request)
                #expect(pause == .ended(.verified))
            }
            // The trial after the lock-out has more time.
            #expect(try await stage.value(untried, as: JSON<[String]>?.self) == nil)
        }
    }
}

extension Stage {
    /// Makes deletes of profiles wait while the gate is closed, longer than any lock timeout.
    fileprivate func makeGate() async throws {
        try await sql("create table public.gate ()")
        try await sql(
            """
            create function public.pass_gate() returns trigger language plpgsql security definer as $$
            begin
                while exists (select from public.gate) loop perform pg_sleep(0.02); end loop;
                return old;
            end $$
            """
        )
        try await sql(
            "create trigger gate before delete on public.profiles for each row execute function public.pass_gate()"
        )
    }

    fileprivate func closeGate() async throws { try await sql("insert into public.gate default values") }

    fileprivate func openGate() async throws { try await sql("delete from public.gate") }

    /// Drives a request until its delete waits at the gate.
    fileprivate func driveToTheGate(
        _ request: UUID,
        _ policy: DeletionPolicy
    ) async throws -> Task<DeletionDriver.Pause, any Error> {
        try await driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
        try await closeGate()
        let drive = Task { try await self.drive(request, policy) }
        try await database.waitUntilAsleep(sessions: 1)
        return drive
    }
}
