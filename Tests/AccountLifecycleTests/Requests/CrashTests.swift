import AccountLifecycle
import Foundation
import Postgres
import Sandbox
import Testing

@Suite(.timeLimit(.minutes(5))) struct CrashTests {
    /// Every instant at which a process can die: before, within and after each step.
    static let points: [DeletionPoint] =
        DeletionStep.allCases.flatMap { step in [.before(step), .begun(step), .done(step), .after(step)] }
        // Steps that act outside, or in several transactions: after the act, before its record.
        + [.middle(.revokeApple), .middle(.deleteAvatars), .middle(.deleteRows)]

    /// All crashes happen in one database, where each account is a bystander of the others.
    @Test func aRunGoesOnAfterACrashAtAnyInstant() async throws {
        try await Stage.with { stage in
            let bystander = try await stage.fullAccount("berta")
            let before = try await stage.fingerprint(bystander)
            for point in Self.points {
                let person = try await stage.fullAccount()
                let request = try await stage.request(person)
                let crashed = Counter()
                try await stage.driveToCrash(request) { reached in
                    guard reached == point else { return }
                    crashed.add()
                    throw SimulatedCrash()
                }
                #expect(crashed.value == 1, "never reached \(point)")
                #expect(try await stage.drive(request) == .ended(.verified), "after a crash at \(point)")
                #expect(try await stage.traces(of: person) == "", "after a crash at \(point)")
                let consent = stage.sandbox.apple.consent(sub: try #require(person.sub), clientID: Stage.clientID)
                if case .ended = consent {} else { Issue.record("consent \(consent) after a crash at \(point)") }
                #expect(try await stage.outcome(.revokeApple, request) == "revoked", "after a crash at \(point)")
            }
            #expect(try await stage.fingerprint(bystander) == before)
            #expect(try await stage.count("select from accountctl.deletion_receipts") == Self.points.count)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 3)
        }
    }

    /// Whatever an access token from before the request may write at any instant, nothing of it survives.
    @Test func writesWithAnOldTokenAtAnyInstantLeaveNothing() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let refused = Counter()
            let taken = Counter()
            let pause = try await stage.drive(request) { _ in
                let key = "\(UUID().uuidString).jpeg"
                if try await stage.upload(key, by: person) { taken.add() } else { refused.add() }
                let state = await sqlState {
                    try await stage.signedIn(person) { connection in
                        try connection.execute(
                            """
                            insert into public.profiles (id, full_name, website)
                            values (\(person.id), 'again', 'https://again.example')
                            on conflict (id) do update set website = excluded.website
                            """
                        )
                    }
                }
                if state == nil { taken.add() } else { refused.add() }
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.traces(of: person) == "")
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            // Before the lock-out the account works; after it every write is refused.
            #expect(taken.value > 0)
            #expect(refused.value > 20)
            // And after the end.
            #expect(try await !stage.upload("after.jpeg", by: person))
            let state = await sqlState {
                try await stage.call(person, "select public.request_account_deletion()")
            }
            #expect(state == "PT410")
        }
    }

    /// An app table without a foreign key and without our policies accepts writes until the token expires: the last
    /// sweep names it.
    @Test func whatAnAppTableTakesBetweenTheSweepsIsFoundByTheLast() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.notes (id bigint generated always as identity, author uuid, text text)"
            )
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            var policy = Stage.swift
            policy.tokenLife = .seconds(3600)
            guard case .until = try await stage.drive(request, policy) else {
                Issue.record("did not settle")
                return
            }
            #expect(try await stage.state(request) == "settling")
            try await stage.sql("insert into public.notes (author, text) values (\(person.id), 'late')")
            try await stage.sql("update accountctl.deletion_requests set settle_after = now() where id = \(request)")
            try await stage.drive(request, policy)
            #expect(try await stage.state(request) == "residue")
            let situation = try #require(try await stage.situation(request))
            #expect(situation.code == .residue)
            #expect(situation.findings?.map(\.column) == ["public.notes.author"])
            try await stage.sql("delete from public.notes")
            #expect(try await stage.drive(request, policy) == .ended(.verified))
        }
    }

    /// Objects that are uploaded meanwhile send the request back to an earlier step.
    @Test func aLateUploadGoesBackToDeletingObjects() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .before(.settle)) {
                // With the service key, as a function of the app that runs late would use.
                _ = try await stage.upload("\(person.text)/late.jpeg", by: nil)
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }
}
