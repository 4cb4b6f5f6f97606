import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Files of nobody that a profile names: people write their profiles themselves.
@Suite(.timeLimit(.minutes(5))) struct NamedFileTests {
    /// As an operator has it who has said nothing of folders.
    private static func policy(_ folders: AvatarFolders = AvatarFolders()) -> DeletionPolicy {
        var policy = Stage.swift
        policy.avatarFolders = folders
        return policy
    }

    @Test func theInnermostFolderCounts() {
        let folders = AvatarFolders(accounts: ["/", "photos/team/own"], apps: ["photos/team/", "/defaults"])
        let fates: [(key: String, fate: AvatarFolders.Fate)] = [
            ("pic.png", .accounts), ("photos/1.png", .accounts), ("photos/team/a.png", .apps),
            ("photos/team/own/a.png", .accounts), ("photosx/1.png", .accounts), ("photos/teams.png", .accounts),
            ("defaults/fox.png", .apps), ("defaults", .accounts), ("Defaults/fox.png", .accounts),
        ]
        for (key, fate) in fates { #expect(folders.fate(of: key) == fate, "\(key)") }
    }

    @Test func whatNoFolderIsSaidOfIsUndecided() {
        let folders = AvatarFolders(accounts: ["photos"], apps: ["defaults", "both"])
        #expect(folders.fate(of: "teams/logo.png") == .undecided)
        #expect(folders.fate(of: "photos") == .undecided)
        #expect(AvatarFolders(accounts: ["both"], apps: ["both"]).fate(of: "both/1.png") == .apps)
        // To Swift these are the same text.
        #expect(AvatarFolders(accounts: ["\u{212B}"]).fate(of: "\u{C5}/1.png") == .undecided)
    }

    /// The first who leaves with the app's picture, or a team's, does not take it from everybody.
    @Test(arguments: ["defaults/fox.png", "fox.png"])
    func theAppsPictureDoesNotGoWithTheOnlyOneWhoPickedIt(_ key: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            #expect(try await stage.upload(key, by: nil))
            try await stage.setAvatar(of: person, key)
            let preview = try await stage.pool.withConnection { connection in
                try await DeletionPreview.read(person.id, policy: Self.policy(), asksTriggers: false, on: connection)
            }
            #expect(preview?.obstacles.map(\.code) == [.undecidedFile])
            #expect(preview?.obstacles.map(\.rows) == [1])
            #expect(preview?.buckets == [])
            let request = try await stage.request(person)
            try await stage.drive(request, Self.policy())
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request) == Situation(.undecidedFile, subject: "avatars"))
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)

            let isTheApps = Self.policy(AvatarFolders(apps: [key == "fox.png" ? "/" : "defaults"]))
            #expect(try await stage.drive(request, isTheApps) == .ended(.verified))
            #expect(try await stage.count("select from storage.objects where name = \(key)") == 1)
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            #expect(try await stage.avatarCounts(request) == ["objects": 0])
            #expect(try await stage.proof(request) == "searched")
        }
    }

    /// What is uploaded with the service key is in the folder of the account whose it is, or the operator says so.
    @Test func whatTheServerUploadsForAnAccountGoesWithIt() async throws {
        try await Stage.with { stage in
            let inFolder = try await stage.signUp("anna", apple: false)
            let elsewhere = try await stage.signUp("berta", apple: false)
            for (person, key) in [(inFolder, "\(inFolder.text)/me.png"), (elsewhere, "photos/1.png")] {
                #expect(try await stage.upload(key, by: nil))
                try await stage.setAvatar(of: person, key)
            }
            let first = try await stage.request(inFolder)
            #expect(try await stage.drive(first, Self.policy()) == .ended(.verified))
            let second = try await stage.request(elsewhere)
            try await stage.drive(second, Self.policy())
            #expect(try await stage.situation(second)?.code == .undecidedFile)
            let isAccounts = Self.policy(AvatarFolders(accounts: ["photos"]))
            #expect(try await stage.drive(second, isAccounts) == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            for request in [first, second] {
                #expect(try await stage.avatarCounts(request) == ["objects": 1])
                #expect(try await stage.proof(request) == "searched")
            }
        }
    }

    /// Whoever names somebody else's picture keeps it from going; nobody is told that all is gone.
    @Test func thatAPictureStayedIsTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.twoWhoName("photos/anna.png").person
            let policy = Self.policy(AvatarFolders(accounts: ["photos"]))
            let request = try await stage.request(person)
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
            #expect(try await stage.proof(request) == "accepted")
            let document = try await stage.receipt(of: request)
            #expect(document.proof == .accepted)
            #expect(document.outOfScope.contains { $0.contains("ownerless files") && $0.contains("1 stayed") })
        }
    }

    /// A server may write the profile of somebody who is locked out: a question is too late by then.
    @Test func whatIsNamedAfterTheLockOutIsNotTakenAlong() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            for key in ["teams/logo.png", "\(person.text)/me.png"] { #expect(try await stage.upload(key, by: nil)) }
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, Self.policy(), once: .before(.deleteAvatars)) {
                try await stage.setAvatar(of: person, "teams/logo.png")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            #expect(try await stage.count("select from storage.objects where name = 'teams/logo.png'") == 1)
            #expect(try await stage.avatarCounts(request) == ["objects": 1, "shared": 1])
            #expect(try await stage.proof(request) == "accepted")
        }
    }

    /// Once the other has let go of it, nobody knows whose it is.
    @Test func whatTheOtherNoLongerNamesIsNotTakenAlongWhereNobodySaidWhoseItIs() async throws {
        try await Stage.with { stage in
            let (person, other) = try await stage.twoWhoName("team.png")
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, Self.policy(), once: .before(.deleteRows)) {
                try await stage.setAvatar(of: other, "else.png")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
            #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
            #expect(try await stage.proof(request) == "accepted")
        }
    }

    /// To each the other named it, until both were locked out; nobody is stopped there.
    @Test func whatTwoWhoLeaveAtOnceNamedStaysWhereNobodySaidWhoseItIs() async throws {
        try await Stage.with { stage in
            #expect(try await stage.upload("team.png", by: nil))
            var people: [Person] = []
            for name in ["anna", "berta"] {
                let person = try await stage.signUp(name, apple: false)
                try await stage.setAvatar(of: person, "team.png")
                people.append(person)
            }
            var requests: [UUID] = []
            for person in people {
                let request = try await stage.request(person)
                await #expect(throws: SimulatedCrash.self) {
                    try await stage.drive(
                        request,
                        Self.policy(),
                        probe: SimulatedCrash.once(at: .after(.lockOut))
                    )
                }
                requests.append(request)
            }
            for request in requests {
                #expect(try await stage.drive(request, Self.policy()) == .ended(.verified))
                #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
                #expect(try await stage.proof(request) == "accepted")
                let document = try await stage.receipt(of: request)
                #expect(
                    document.outOfScope.contains { $0.contains("ownerless files") && $0.contains("1 stayed") }
                )
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
        }
    }
}

extension Stage {
    /// What the app is told that the erasure was searched for.
    fileprivate func proof(_ request: UUID) async throws -> String? {
        try await value("select accountctl.deletion_status_document(\(request)) ->> 'proof'", as: String?.self)
    }
}
