import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

@testable import AccountLifecycle

/// Ownerless files that a profile names; people write their profiles themselves.
@Suite(.timeLimit(.minutes(5))) struct NamedFileTests {
    /// A policy with the given folders, by default none, as if the operator has not configured any.
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
        // Swift considers these two strings equal.
        #expect(AvatarFolders(accounts: ["\u{212B}"]).fate(of: "\u{C5}/1.png") == .undecided)
    }

    /// A picture of the app, or of a team, is not deleted with the first person who leaves, although no one else picked
    /// it.
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

    /// A file uploaded with the service key is deleted with the account if it is in the account's folder, or if the
    /// operator declares its folder to be of accounts.
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

    /// A picture that stays because another person names it is reported, so that the proof does not claim full erasure.
    @Test func thatAPictureStayedIsTold() async throws {
        try await Stage.with { stage in
            let person = try await stage.twoWhoName("photos/anna.png").person
            let policy = Self.policy(AvatarFolders(accounts: ["photos"]))
            let request = try await stage.erase(person, policy)
            #expect(try await stage.avatarCounts(request) == ["objects": 0, "shared": 1])
            #expect(try await stage.proof(request) == "accepted")
            let document = try await stage.receipt(of: request)
            #expect(document.proof == .accepted)
            #expect(document.outOfScope.contains { $0.contains("ownerless files") && $0.hasSuffix(": 1") })
        }
    }

    /// A file that a profile names only after the lock-out is kept, since it is too late to ask the operator.
    ///
    /// An app's server may still write the profile of a locked-out person.
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

    /// A file that the other person no longer names is kept if no folder says whose it is.
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

    /// A file that two people named who leave at once is kept if no folder says whose it is.
    ///
    /// Each preflight found the other profile naming it, and after the lock-out no request is blocked for it.
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
                    document.outOfScope.contains { $0.contains("ownerless files") && $0.hasSuffix(": 1") }
                )
            }
            #expect(stage.sandbox.storage.files(bucket: "avatars").count == 1)
        }
    }
}

extension Stage {
    /// The proof of the erasure that the app is told.
    fileprivate func proof(_ request: UUID) async throws -> String? {
        try await value("select accountctl.deletion_status_document(\(request)) ->> 'proof'", as: String?.self)
    }
}
