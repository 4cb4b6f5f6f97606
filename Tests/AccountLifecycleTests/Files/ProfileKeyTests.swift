import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing
import Waiting

@testable import AccountLifecycle

/// Foreign keys of `public.profiles` other than the one that makes a profile the account's own.
@Suite(.timeLimit(.minutes(5))) struct ProfileKeyTests {
    /// Foreign keys from other people's profiles to the account that refuse its deletion.
    private static let refusing: [(column: String, target: Statement)] = [
        ("invited_by", "references auth.users"),
        ("friend", "references public.profiles"),
        ("mentor", "references auth.users on delete restrict"),
        ("coach", "references public.profiles on delete restrict"),
    ]

    @Test(arguments: refusing.indices)
    func profilesOfOthersThatRefuseAreFoundBeforeAnythingIsTouched(_ index: Int) async throws {
        let (column, target) = Self.refusing[index]
        try await Stage.with { stage in
            try await stage.sql("alter table public.profiles add \(identifier: column) uuid \(target)")
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta")
            try await stage.sql(
                "update public.profiles set \(identifier: column) = \(person.id) where id in (\(person.id), \(other.id))"
            )
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blocker = try #require(try await stage.situation(request)?.blockers?.first)
            #expect(blocker.table == "public.profiles")
            #expect(blocker.name == "profiles_\(column)_fkey")
            // The account's own profile is deleted too, so it does not refuse.
            #expect(blocker.rows == 1)
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            #expect(stage.sandbox.journal.count(.appleRevoke) == 0)
            try await stage.sql("update public.profiles set \(identifier: column) = null where id = \(other.id)")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.profiles where id = \(other.id)") == 1)
        }
    }

    @Test func profilesThatHangOffATeamOfTheAccountRefuse() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.teams (id int primary key, owner_id uuid references auth.users on delete cascade)"
            )
            try await stage.sql("alter table public.profiles add team_id int references public.teams")
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("berta")
            try await stage.sql("insert into public.teams values (1, \(person.id))")
            try await stage.sql("update public.profiles set team_id = 1 where id in (\(person.id), \(other.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            #expect(try await stage.situation(request)?.blockers?.map(\.name) == ["profiles_team_id_fkey"])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("update public.profiles set team_id = null where id = \(other.id)")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Rows that cascade only with the account do not block its profile, which is deleted before the account.
    @Test func rowsThatGoWithTheAccountAloneDoNotStandInTheWayOfItsProfile() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.posts (
                    owner_id uuid references auth.users on delete cascade,
                    author_id uuid references public.profiles
                )
                """
            )
            // A note cascades with the profile by one key, but the other key is checked first.
            try await stage.sql(
                """
                create table public.notes (
                    withdrawn_by uuid references public.profiles,
                    author_id uuid references public.profiles on delete cascade
                )
                """
            )
            try await stage.sql("grant select, delete on public.posts, public.notes to postgres")
            let (person, other) = (try await stage.fullAccount(), try await stage.signUp("berta"))
            for one in [person, other] {
                try await stage.sql("insert into public.posts values (\(one.id), \(one.id))")
                try await stage.sql("insert into public.notes values (\(one.id), \(one.id))")
            }
            try await stage.erase(person)
            #expect(try await stage.count("select from public.posts where owner_id = \(other.id)") == 1)
            #expect(try await stage.count("select from public.posts") == 1)
            #expect(try await stage.count("select from public.notes") == 1)
        }
    }

    /// Rows that cascade only with the account block its profile if we may not delete them.
    ///
    /// They still exist when the profile is deleted. They are counted, since without the right to delete no trial can
    /// find them.
    @Test func whatWeMayNotDeleteAndGoesWithTheAccountAloneStandsInTheWayOfItsProfile() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.posts (
                    owner_id uuid references auth.users on delete cascade,
                    author_id uuid references public.profiles
                )
                """
            )
            let person = try await stage.fullAccount()
            try await stage.sql("insert into public.posts values (\(person.id), \(person.id))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "blocked")
            let blockers = try await stage.situation(request)?.blockers
            #expect(blockers?.map(\.name) == ["posts_author_id_fkey"])
            // A trial would not count these rows.
            #expect(blockers?.map(\.rows) == [1])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("update public.posts set author_id = null")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    /// A file named by a profile is found by the current key column, even if that has just changed.
    ///
    /// The former key would find nothing, and once the profile is deleted, nothing names the file.
    @Test func whatAProfileNamesIsFoundByTheKeyThatItHasNow() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let picture = "\(UUID().text).png"
            guard try await stage.upload(picture, by: nil) else { throw Unexpected("upload refused") }
            try await stage.sql("update public.profiles set avatar_url = \(picture) where id = \(person.id)")
            let services = stage.services()
            let before = try await services.objects.answer(for: person.id).objects
            try await stage.reuseName(of: "id", in: "profiles", renaming: "account")
            let after = try await services.objects.answer(for: person.id).objects
            #expect(before.map(\.key) == [picture])
            #expect(after == before)
        }
    }

    /// The same for the question that is asked right before files go: by the former key, no profile of the account would
    /// name the file any more, and the file would stay.
    @Test func whatAProfileNamesGoesByTheKeyThatItHasThen() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let picture = "\(UUID().text).png"
            guard try await stage.upload(picture, by: nil) else { throw Unexpected("upload refused") }
            try await stage.setAvatar(of: person, picture)
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .begun(.deleteAvatars)) {
                try await stage.reuseName(of: "id", in: "profiles", renaming: "account")
            }
            #expect(pause == .ended(.verified))
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            #expect(try await stage.avatarCounts(request)["objects"] == 1)
        }
    }

    /// Profiles of others that cascade with the account are counted in advance, and deleted in batches if there are
    /// many.
    ///
    /// The cascade was declared by the app, so it is intended.
    @Test(arguments: ["auth.users", "public.profiles"])
    func profilesOfOthersThatCascadeAreCounted(_ target: String) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "alter table public.profiles add invited_by uuid references \(unsafeSQL: target) on delete cascade"
            )
            let person = try await stage.fullAccount()
            let picture = "\(UUID().text).png"
            guard try await stage.upload(picture, by: nil) else { throw Unexpected("upload refused") }
            try await stage.sql("update public.profiles set avatar_url = \(picture) where id = \(person.id)")
            for index in 0..<4 {
                let other = try await stage.signUp("p\(index)")
                try await stage.sql("update public.profiles set invited_by = \(person.id) where id = \(other.id)")
            }
            let stranger = try await stage.signUp("berta")
            try await stage.sql("analyze public.profiles")
            let preview = try await stage.preview(of: person)
            let table = try #require(preview?.tables.first { $0.table == TableName("public", "profiles") })
            #expect(table.rows == 5)
            #expect(table.reachedBy == ["profiles_invited_by_fkey"])
            var policy = Stage.swift
            policy.maximumRows = 4
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            #expect(try await stage.situation(request)?.code == .tooLarge)
            policy.maximumRows = 1000
            policy.batchRows = 2
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.count("select from public.profiles where id <> \(stranger.id)") == 0)
            #expect(try await stage.count("select from public.profiles") == 1)
            #expect(stage.sandbox.storage.files(bucket: "avatars").isEmpty)
            // The account's own profile is deleted with the account, not in a batch.
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 4)
        }
    }
}
