import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// A brake that is pulled during a step stops everything that the step has not done yet.
@Suite(.timeLimit(.minutes(5))) struct BrakeWithinStepTests {
    @Test func aPauseAfterAStepBeganIsSeenBeforeItsFirstAct() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            for step in DeletionStep.allCases where step.isIrreversible {
                let person = try await stage.fullAccount("p\(step.rawValue.prefix(3))")
                let request = try await stage.request(person)
                let before = Kept<String>()
                try await stage.drive(request, once: .begun(step)) {
                    try await stage.pool.withConnection { try await desk.pauseAll(reason: "test", on: $0) }
                    before.keep(try await stage.data(of: person))
                }
                #expect(try await stage.state(request) == "held", "in \(step)")
                #expect(try await stage.outcome(step, request) == nil, "\(step) was taken")
                #expect(try await stage.data(of: person) == before.value, "\(step) did something")
                try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
                #expect(try await stage.drive(request) == .ended(.verified))
            }
        }
    }

    /// Any role that can connect to the database can take the advisory lock of the brakes, and keep it.
    @Test func whoKeepsTheBrakesFromAStepIsNamed() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.fullAccount())
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .begun(.deleteRows)))
            let pid = try await stage.database.withConnection(asAdministrator: true) { connection in
                try connection.execute("set application_name = 'stranger'")
                try connection.execute("select pg_advisory_lock(hashtextextended('accountctl.deletion_brakes', 0))")
                try await stage.drive(request)
                return connection.backendPID
            }
            let holder = "server process \(pid) of role supabase_admin (stranger) holds accountctl.deletion_brakes"
            #expect(try await stage.situation(request)?.detail == "delete_rows: SQLSTATE 55P03, " + holder)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// The lock-out has already been decided on, so the step checks the brakes again under its locks, before it changes
    /// anything.
    @Test(arguments: Brake.allCases)
    func nobodyIsLockedOutWhoIsStoppedAtThatMoment(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let before = try await stage.data(of: person)
            try await stage.drive(request, once: .begun(.lockOut)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.data(of: person) == before)
            #expect(try await stage.outcome(.lockOut, request) == nil)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test(arguments: Brake.allCases)
    func batchesOfRowsStop(_ brake: Brake) async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            let person = try await stage.signUp()
            try await stage.addPosts(250, of: person)
            var policy = Stage.swift
            policy.batchRows = 100
            let request = try await stage.request(person)
            try await stage.drive(request, policy, once: .between(.deleteRows)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(try await stage.count("select from public.posts") == 150)
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    @Test(arguments: Brake.allCases)
    func partsOfTheFilesStop(_ brake: Brake) async throws {
        try await Stage.with { stage in
            let (person, policy) = try await stage.personWithTwoBuckets()
            let request = try await stage.request(person)
            try await stage.drive(request, policy, once: .middle(.deleteAvatars)) {
                try await stage.pull(brake, on: person, request)
            }
            #expect(try await stage.situation(request)?.code == brake.situation)
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            #expect(stage.sandbox.storage.files(bucket: "scans").count == 1)
            try await stage.release(brake, on: person, request)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "scans").isEmpty)
        }
    }

    /// This happens only by hand, for instance when a backup is restored; even then none of the account's data may be
    /// lost.
    @Test func anAccountRestoredUnderTheSameIDIsLeftAloneAndTheRequestCanEnd() async throws {
        try await Stage.with { stage in
            let desk = stage.desk
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            try await stage.drive(request, once: .begun(.scrubAuth)) {
                try await stage.sql(
                    """
                    insert into auth.users (instance_id, id, aud, role, email, created_at, banned_until)
                    values (
                        '00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated',
                        'new@example.com', clock_timestamp(), '2100-01-01 00:00Z'
                    )
                    """
                )
                try await stage.sql(
                    """
                    insert into auth.flow_state (id, user_id, provider_type, authentication_method)
                    values (gen_random_uuid(), \(person.id), 'apple', 'oauth')
                    """
                )
            }
            #expect(try await stage.situation(request)?.code == .otherAccount)
            #expect(try await stage.count("select from auth.flow_state where user_id = \(person.id)") == 1)
            let act = try await stage.pool.withConnection { try await desk.cancel(request, reason: "other", on: $0) }
            #expect(act == .done)
            #expect(try await stage.drive(request) == .ended(.cancelled))
            let kept: Statement = "select from auth.users where id = \(person.id) and banned_until > '2099-01-01'"
            #expect(try await stage.count(kept) == 1)
        }
    }
}
