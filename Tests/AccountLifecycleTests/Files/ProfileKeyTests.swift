import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing
import Waiting

@testable import AccountLifecycle

/// Keys of `public.profiles` besides the one by which a profile is the account's own.
@Suite(.timeLimit(.minutes(5))) struct ProfileKeyTests {
    /// What refers to the account from other people's profiles, by a key that lets nothing go.
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
            // The account's own goes too: it refuses nothing.
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

    /// The profile goes before its account does, and what hangs off the account alone goes with both.
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
            // Goes with the profile by one key, and is asked for the other one first.
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
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.posts where owner_id = \(other.id)") == 1)
            #expect(try await stage.count("select from public.posts") == 1)
            #expect(try await stage.count("select from public.notes") == 1)
        }
    }

    /// It is still there when the profile goes, and is counted: where nothing may be tried, a trial does not tell.
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
            // A trial does not count them.
            #expect(blockers?.map(\.rows) == [1])
            #expect(try await stage.count("select from auth.sessions where user_id = \(person.id)") == 1)
            try await stage.sql("update public.posts set author_id = null")
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.count("select from public.posts") == 0)
        }
    }

    /// By the one of a moment ago nothing is found, and nothing names the file once the profile is gone.
    @Test func whatAProfileNamesIsFoundByTheKeyThatItHasNow() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let picture = "\(UUID().text).png"
            guard try await stage.upload(picture, by: nil) else { throw Unexpected("upload refused") }
            try await stage.sql("update public.profiles set avatar_url = \(picture) where id = \(person.id)")
            let services = stage.services()
            let before = try await services.objects.answer(for: person.id).objects
            try await stage.sql("alter table public.profiles rename id to account")
            try await stage.sql("alter table public.profiles add id uuid references auth.users on delete set null")
            let after = try await services.objects.answer(for: person.id).objects
            #expect(before.map(\.key) == [picture])
            #expect(after == before)
        }
    }

    /// Whoever declared it so wants it; it is told beforehand, and large tables of it go in batches.
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
            let preview = try await stage.pool.withConnection {
                try await DeletionPreview.read(person.id, policy: Stage.swift, asksTriggers: false, on: $0)
            }
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
            // The account's own profile goes with the account.
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 4)
        }
    }
}
