import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// An object that several people name is deleted with the last of them.
@Suite(.timeLimit(.minutes(5))) struct LastNamerTests {
    private func requestsOfTwoWhoName(_ key: String, on stage: Stage) async throws -> [UUID] {
        let people = try await stage.twoWhoName(key)
        return [try await stage.request(people.person), try await stage.request(people.other)]
    }

    /// An object named by two people who leave one after the other is deleted with the second.
    @Test func whatOnlyThoseWhoAreGoneNamedGoesWithTheLast() async throws {
        try await Stage.with { stage in
            let requests = try await requestsOfTwoWhoName("team.png", on: stage)
            for (request, counted) in zip(requests, [["objects": 0, "shared": 1], ["objects": 1]]) {
                #expect(try await stage.drive(request) == .ended(.verified))
                #expect(try await stage.avatarCounts(request) == counted)
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    /// An object named by two people who leave at the same time is deleted with the last.
    ///
    /// Each deletion first found that the other profile names the object, and once both have gone on, none does.
    @Test func whatTwoWhoLeaveAtOnceNamedGoesWithTheLast() async throws {
        try await Stage.with { stage in
            let requests = try await requestsOfTwoWhoName("team.png", on: stage)
            for request in requests {
                try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.deleteAvatars)))
                #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
            }
            // Both deletions are blocked by this lock until each has come as far as it can.
            let drives = try await stage.admin.withTransaction { [requests] connection in
                try connection.execute("select \(DeletionBrakes.awaiting)")
                let drives = requests.map { request in Task { try await stage.drive(request) } }
                try await stage.database.waitUntilBlocked(sessions: 2)
                return drives
            }
            for drive in drives { #expect(try await drive.value == .ended(.verified)) }
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            let told = [try await stage.avatarCounts(requests[0]), try await stage.avatarCounts(requests[1])]
            #expect(told.sorted { $0.count > $1.count } == [["objects": 0, "shared": 1], ["objects": 1]])
        }
    }

    @Test func whatTheOtherNoLongerNamesWhenTheRowsGoGoes() async throws {
        try await Stage.with { stage in
            let (person, other) = try await stage.twoWhoName("team.png")
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.deleteRows)) {
                #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
                try await stage.setAvatar(of: other, "else.png")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            #expect(try await stage.avatarCounts(request) == ["objects": 1])
        }
    }

    /// The same if a migration of the app renames the key of profiles just then.
    @Test func whatTheOtherNoLongerNamesGoesByTheKeyThatProfilesHaveThen() async throws {
        try await Stage.with { stage in
            let (person, other) = try await stage.twoWhoName("team.png")
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .middle(.deleteRows)) {
                try await stage.setAvatar(of: other, "else.png")
                try await stage.sql("alter table public.profiles rename id to account")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    /// The receipt counts the objects that stayed, even if a late file makes the files be deleted again.
    ///
    /// By then, the profile that named them no longer exists.
    @Test func theReceiptCountsWhatStayedHoweverOftenFilesAreDeleted() async throws {
        try await Stage.with { stage in
            let person = try await stage.twoWhoName("team.png").person
            #expect(try await stage.upload("\(person.text)/first.png", by: nil))
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.verify)) {
                let isThere = try await stage.upload("\(person.text)/late.png", by: nil)
                #expect(isThere)
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            let told = try await stage.value(
                """
                select concat_ws(' ', step ->> 'runs', step ->> 'outcome', step -> 'facts' ->> 'counts')
                from accountctl.deletion_receipts as r, jsonb_array_elements(r.document -> 'steps') as s (step)
                where step ->> 'step' = 'delete_avatars'
                """,
                as: String.self
            )
            #expect(told == #"2 ok {"shared": 1, "objects": 2}"#)
        }
    }
}
