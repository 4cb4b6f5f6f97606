import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// What a database remembers of the project and the Storage that it is used with.
@Suite(.timeLimit(.minutes(5))) struct DatabaseUseTests {
    private func record(_ storage: String?, project: String? = nil, _ stage: Stage) async throws -> String? {
        let actor = Operator(name: "worker", hashKey: stage.vault.hashKey)
        return try await stage.pool.withConnection { connection in
            try await DatabaseUse.record(project: project, storage: storage, by: actor, on: connection)
        }
    }

    private func isPaused(_ stage: Stage) async throws -> Bool {
        try await stage.count("select from accountctl.deletion_brakes where paused_at is not null") == 1
    }

    @Test func whoeverStartsWithTheSameGoesOn() async throws {
        try await Stage.with { stage in
            try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<6 { group.addTask { try await record("https://a.supabase.co/storage/v1", stage) } }
                for try await reason in group { #expect(reason == nil) }
            }
            for storage in ["https://A.supabase.co/storage/v1/", nil, "https://a.supabase.co/storage/v1"] {
                #expect(try await record(storage, stage) == nil)
            }
            #expect(try await isPaused(stage) == false)
            #expect(try await stage.count("select from accountctl.operator_log") == 0)
        }
    }

    @Test func theFirstStorageIsNoOtherStorage() async throws {
        try await Stage.with { stage in
            for storage in [nil, "https://a.supabase.co/storage/v1"] {
                let reason = try await record(storage, stage)
                #expect(reason == nil)
            }
            let isPaused = try await isPaused(stage)
            #expect(!isPaused)
        }
    }

    @Test func anotherAddressOfTheSameProjectIsNoOtherStorage() async throws {
        try await Stage.with { stage in
            for host in ["a.supabase.co", "a.storage.supabase.co", "a.supabase.co"] {
                let reason = try await record("https://\(host)/storage/v1", stage)
                #expect(reason == nil)
            }
            let isPaused = try await isPaused(stage)
            #expect(!isPaused)
            // A custom address may lead to any Storage.
            let reason = try await record("https://files.example/storage/v1", stage)
            #expect(reason != nil)
        }
    }

    /// A host that copies the database's files makes a clone with the same identifiers.
    @Test func anotherProjectPausesEveryDeletion() async throws {
        try await Stage.with { stage in
            for project in ["abc", nil, "abc"] {
                let reason = try await record(nil, project: project, stage)
                #expect(reason == nil)
            }
            let reason = try await record(nil, project: "def", stage)
            #expect(reason?.contains("the project was abc and is def") == true)
            let isPaused = try await isPaused(stage)
            #expect(isPaused)
        }
    }

    @Test func anotherStoragePausesEveryDeletionOnce() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            #expect(try await record("https://a.supabase.co/storage/v1", stage) == nil)
            let reasons = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<4 { group.addTask { try await record("https://b.supabase.co/storage/v1", stage) } }
                return try await group.reduce(into: [String]()) { if let reason = $1 { $0.append(reason) } }
            }
            #expect(reasons.count == 1)
            #expect(
                reasons.first?.contains(
                    "storage.url was https://a.supabase.co/storage/v1 and is https://b.supabase.co/storage/v1"
                ) == true
            )
            let desk = stage.desk
            // A pause without a reason of its own keeps the reason of the worker.
            try await stage.pool.withConnection { try await desk.pauseAll(reason: nil, on: $0) }
            let brakes = try await stage.value(
                "select paused_by || ': ' || paused_reason from accountctl.deletion_brakes",
                as: String.self
            )
            #expect(brakes == "worker: \(reasons.first ?? "")")
            let line = "select from accountctl.operator_log where action = 'deletion.pause_all' and operator = 'worker'"
            #expect(try await stage.count("\(unsafeSQL: line)") == 1)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.code == .paused)
            try await stage.pool.withConnection { try await desk.resumeAll(reason: "meant so", on: $0) }
            #expect(try await record("https://b.supabase.co/storage/v1", stage) == nil)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// The copy of a paused database is paused as well: whoever resumes it would not learn that it is a copy.
    @Test func aPauseFromBeforeDoesNotHideTheReason() async throws {
        try await Stage.with { stage in
            #expect(try await record(nil, project: "abc", stage) == nil)
            let desk = stage.desk
            try await stage.pool.withConnection { try await desk.pauseAll(reason: "maintenance", on: $0) }
            let since = "select paused_at::text from accountctl.deletion_brakes"
            let before = try await stage.value("\(unsafeSQL: since)", as: String.self)
            let reason = try #require(try await record(nil, project: "def", stage))
            let told = "select paused_by || ': ' || paused_reason from accountctl.deletion_brakes"
            let brakes = "worker: \(reason); paused before by test: maintenance"
            #expect(try await stage.value("\(unsafeSQL: told)", as: String.self) == brakes)
            // A copy of this copy says so as well.
            let second = try #require(try await record(nil, project: "ghi", stage))
            let longer = "worker: \(second); before: \(reason); paused before by test: maintenance"
            #expect(try await stage.value("\(unsafeSQL: told)", as: String.self) == longer)
            // Two workers that find each other's settings in turn tell each difference once.
            let third = try #require(try await record(nil, project: "def", stage))
            for project in ["ghi", "def", "ghi"] { #expect(try await record(nil, project: project, stage) != nil) }
            let longest = longer.replacing("worker: ", with: "worker: \(third); before: ")
            #expect(try await stage.value("\(unsafeSQL: told)", as: String.self) == longest)
            #expect(try await stage.value("\(unsafeSQL: since)", as: String.self) == before)
        }
    }

    /// A clone does not know who has come back since.
    @Test func whatIsStillToBeRevokedWaitsWhileEverythingIsPaused() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            stage.sandbox.faults.set(.appleError("invalid_client"), for: .appleRevoke)
            try await stage.sql("update accountctl.deletion_requests set without_apple = true where id = \(request)")
            #expect(try await stage.drive(request) == .ended(.verified))
            stage.sandbox.faults.clearAll()
            try await stage.testApple()
            try await stage.sql("update accountctl.pending_revocations set last_tried_at = null")
            let desk = stage.desk
            try await stage.pool.withConnection { try await desk.pauseAll(reason: "clone", on: $0) }
            #expect(try await stage.retryRevocations() == 1)
            #expect(stage.sandbox.apple.liveConsents == 1)
            try await stage.pool.withConnection { try await desk.resumeAll(on: $0) }
            #expect(try await stage.retryRevocations() == 0)
            #expect(stage.sandbox.apple.liveConsents == 0)
        }
    }
}
