import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

/// Data that reappears after its step is deleted again, and a run does not loop forever.
@Suite(.timeLimit(.minutes(5))) struct NewDataTests {
    /// Somebody restores a part of a backup: it is the same account, and its request is not done.
    @Test func anAccountThatIsBackBeforeTheSearchIsDeletedAgain() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            let request = try await stage.request(person)
            let end = try await stage.drive(request, once: .begun(.verify)) {
                try await stage.sql(
                    """
                    insert into auth.users (instance_id, id, aud, role, email, created_at)
                    values (
                        '00000000-0000-0000-0000-000000000000', \(person.id), 'authenticated', 'authenticated',
                        \(person.email), now() - interval '1 day'
                    )
                    """
                )
            }
            #expect(end == .ended(.verified))
            #expect(try await stage.count("select from auth.users") == 0)
            #expect(try await stage.counts(of: .deleteRows, request)["users"] == 2)
        }
    }

    /// For instance, a job of the app writes a file whenever one is deleted: the attempt ends, and a later one
    /// continues; an hour later if the whole database was searched each time, and each search counts as a failure.
    @Test(
        arguments: [
            (.begun(.verify), "verify keeps finding new work for delete_avatars", 6, .seconds(3600)),
            (.middle(.deleteAvatars), "objects keep appearing", 5, .seconds(30)),
        ] as [(DeletionPoint, String, Int, Duration)]
    )
    func anAttemptEndsWhereFilesComeAsFastAsTheyGo(
        _ coming: DeletionPoint,
        _ told: String,
        _ most: Int,
        _ rest: Duration
    ) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.upload("\(person.text)/0.png", by: nil)
            let request = try await stage.request(person)
            let files = Counter()
            let pause = try await stage.drive(request) { point in
                guard point == coming else { return }
                files.add()
                try await stage.upload("\(person.text)/\(files.value).png", by: nil)
            }
            let situation = try pause.failure
            #expect(situation.detail == told)
            #expect(pause == .failed(after: rest, situation))
            #expect(files.value == most)
            let failures = rest == .seconds(3600) ? most : 1
            let counted: Statement = "select failures from accountctl.deletion_requests where id = \(request)"
            #expect(try await stage.value(counted, as: Int.self) == failures)
            // It counts for the alarm once it has lasted.
            try await stage.sql(
                "update accountctl.deletion_requests set situation_since = now() - interval '16 minutes'"
            )
            let open = try await stage.pool.withConnection { try OpenRequests.byState(on: $0) }
            #expect(open.first?.failing?.count == (failures > 1 ? 1 : nil))
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.avatarCounts(request)["objects"] == most + 1)
        }
    }

    /// The object's bytes may exist without a row, and then no delete would name them.
    @Test func whatStorageListsWithoutARowKeepsTheRows() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let name = "\(person.text)/lost.png"
            stage.sandbox.faults.set(
                .status(200, body: #"{"hasNext": false, "folders": [], "objects": [{"name": "\#(name)"}]}"#),
                for: .storageListRecursively
            )
            let situation = try await stage.drive(request).failure
            #expect(situation.code == .storageUnusable && situation.subject == "avatars")
            #expect(situation.detail == "Storage lists objects that have no row")
            #expect(try await stage.count("select from auth.users where id = \(person.id)") == 1)
            stage.sandbox.faults.clearAll()
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }
}
