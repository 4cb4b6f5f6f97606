import Migrations
import TestSupport
import Testing

/// An adopted database works afterwards: sign-ups, writes, deletes and lock-outs.
///
/// ``AdoptionPlanTests`` checks that nothing is lost.
@Suite(.timeLimit(.minutes(5))) struct AdoptionTests {
    @Test(arguments: AdoptionScenario.starters) func aStarterGetsWhatItLacks(_ scenario: AdoptionScenario) async throws
    {
        try await AdoptionDatabase.with(scenario) { adoption in
            let deletion = "delete from auth.users where id = '\(AdoptionScenario.anna)'"
            await #expect(throws: TestSupportError.self, "the starter's key blocks") {
                try await adoption.database.psql(deletion)
            }
            try await adoption.migrate()

            // Sign-up as the Auth server's own role; a profile that already exists is not an error.
            let signUp = """
                set role supabase_auth_admin;
                insert into auth.users (id, raw_user_meta_data)
                values ('0c000000-0000-4000-8000-00000000000c', '{"full_name": "Cleo"}')
                """
            try await adoption.database.psql(signUp)
            #expect(
                try await adoption.lines("select full_name from public.profiles where id::text like '0c%'") == ["Cleo"]
            )
            #expect(
                try await adoption.lines(
                    "select tgname from pg_trigger where tgrelid = 'auth.users'::regclass and not tgisinternal order by 1"
                ) == ["accountctl_profile_name", "on_auth_user_created"]
            )

            // A user can delete their own files and no others.
            let delete = """
                set local storage.allow_delete_query = 'true';
                set local storage.operation = 'storage.object.delete_many';
                delete from storage.objects where bucket_id = 'avatars' returning name
                """
            #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.bert, delete) == ["two.jpeg"])

            // The lock-out also applies to adopted tables.
            let write = "update public.profiles set website = 'x' returning username"
            #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, write) == ["anna"])
            try await adoption.database.psql("update auth.users set banned_until = 'infinity'")
            await #expect(throws: TestSupportError.self) {
                _ = try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, write)
            }

            // Uploads in another user's name, or without a sign-in, are refused from now on.
            await #expect(throws: TestSupportError.self) {
                _ = try await adoption.lines(
                    as: "anon",
                    "insert into storage.objects (bucket_id, name) values ('avatars', 'x.jpeg')"
                )
            }

            try await adoption.database.psql(deletion)
            #expect(try await adoption.lines("select from public.profiles where full_name = 'Anna Ahlers'").isEmpty)
            #expect(
                try await adoption.lines(
                    "select conname from pg_constraint where conrelid = 'public.profiles'::regclass and not convalidated"
                ).isEmpty
            )
        }
    }

    @Test(arguments: AdoptionScenario.starters) func aStarterIsKnownHoweverTheDatabasePrintsNames(
        _ scenario: AdoptionScenario
    ) async throws {
        try await AdoptionDatabase.with(scenario) { adoption in
            let usual = try await adoption.plan()
            try await adoption.database.psql("alter database \(adoption.database.name) set quote_all_identifiers = on")
            let quoted = try await adoption.plan()
            #expect(quoted.items == usual.items)
        }
    }

    @Test func aSignUpThatWentWellBeforeGoesWell() async throws {
        let scenario = AdoptionScenario(
            name: "the starter with columns that may not be null",
            fixtures: ["starter_documentation"],
            sql: """
                alter table public.profiles alter column full_name set not null;
                alter table public.profiles alter column avatar_url set not null;
                """
        )
        try await AdoptionDatabase.with(scenario) { adoption in
            func signUp(_ account: String) async throws {
                try await adoption.database.psql(
                    """
                    set role supabase_auth_admin;
                    insert into auth.users (id, raw_user_meta_data)
                    values ('\(account)', '{"full_name": "", "avatar_url": " "}')
                    """
                )
            }
            try await signUp(AdoptionScenario.anna)
            try await adoption.migrate()
            try await signUp(AdoptionScenario.bert)
            let taken = try await adoption.lines(
                "select distinct '[' || full_name || '][' || avatar_url || ']' from public.profiles"
            )
            #expect(taken == ["[][ ]"])
        }
    }

    @Test func aFunctionAtSignUpThatTheAppHasChangedSinceIsItsOwn() async throws {
        let starter = AdoptionScenario(name: "the starter", fixtures: ["starter_documentation"])
        try await AdoptionDatabase.with(starter) { adoption in
            let comment = "select obj_description(to_regprocedure('public.handle_new_user()')::oid)"
            try await adoption.migrate()
            #expect(try await adoption.lines(comment).first?.hasSuffix("Of accountctl.") == true)
            // The state that the previous release left, changed by the app since.
            try await adoption.database.psql(
                """
                create or replace function public.handle_new_user() returns trigger language plpgsql
                as 'begin return new; end';
                comment on function public.handle_new_user() is 'Of the app.';
                """
            )
            try await adoption.database.cluster.psql(
                database: adoption.database.name,
                files: [Repository.path("sql/migrations/0059_profiles_sign_up_mark.sql")]
            )
            #expect(try await adoption.lines(comment) == ["Of the app."])
        }
    }

    /// Regardless of the existing rows: code that writes new rows may rely on the absence of a rule.
    @Test func rulesOnUsernamesThatTheAppDroppedStayDropped() async throws {
        try await AdoptionDatabase.with(.namesAtSignUp) { adoption in
            try await adoption.migrate()
            let notes = try await adoption.notes().filter { $0.item.hasPrefix("profiles.username") }
            #expect(notes.count == 2 && notes.allSatisfy { $0.decision == "left_off" }, "\(notes)")
            for (account, address) in [
                (AdoptionScenario.anna, "jo@a.example"), (AdoptionScenario.bert, "jo@b.example"),
            ] {
                try await adoption.database.psql(
                    """
                    set role supabase_auth_admin;
                    insert into auth.users (id, email) values ('\(account)', '\(address)')
                    """
                )
            }
            #expect(try await adoption.lines("select username from public.profiles") == ["jo", "jo"])
        }
    }

    @Test func whatTheAppWithholdsStaysWithheld() async throws {
        try await AdoptionDatabase.with(.withheldColumns) { adoption in
            try await adoption.migrate()
            let note = try #require(try await adoption.notes().first { $0.item == "profiles.privileges" })
            #expect(note.decision == "left_off")
            await #expect(throws: TestSupportError.self) {
                _ = try await adoption.lines(
                    as: "authenticated",
                    of: AdoptionScenario.anna,
                    "update public.profiles set is_admin = true"
                )
            }
            let write = "update public.profiles set website = 'x' returning username"
            #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, write) == ["anna"])
        }
    }

    /// Such rows are usual after a data-only restore, which checks no foreign keys.
    @Test func profilesWithoutAnAccountStopNothing() async throws {
        let scenario = AdoptionScenario(
            name: "profiles without an account",
            fixtures: ["starter_documentation", "starter_data"],
            adminSQL: """
                set session_replication_role = replica;
                insert into public.profiles (id, username) values ('0f000000-0000-4000-8000-00000000000f', 'orphan');
                """
        )
        try await AdoptionDatabase.with(scenario) { adoption in
            try await adoption.migrate()
            let note = try #require(try await adoption.notes().first { $0.item == "profiles.user_key" })
            #expect(note.decision == "replaced")
            #expect(note.reason == "not validated: there are profiles without an account")
            // For every row that has an account, the foreign key still cascades.
            try await adoption.database.psql("delete from auth.users where id = '\(AdoptionScenario.anna)'")
            #expect(
                try await adoption.lines("select username from public.profiles where username is not null") == [
                    "orphan"
                ]
            )
        }
    }

    @Test func theAppsOwnSignUpGoesOn() async throws {
        let scenario = AdoptionScenario(name: "own sign-up", fixtures: ["starter_swift_example", "own_sign_up"])
        try await AdoptionDatabase.with(scenario) { adoption in
            try await adoption.migrate()
            try await adoption.database.psql(
                """
                set role supabase_auth_admin;
                insert into auth.users (id) values ('\(AdoptionScenario.anna)')
                """
            )
            #expect(try await adoption.lines("select username from public.profiles") == ["user_0a000000"])
        }
    }

    @Test func theAppsOwnTableGoesOn() async throws {
        try await AdoptionDatabase.with(.own) { adoption in
            try await adoption.migrate()
            let anna = AdoptionScenario.anna
            let write = "update public.profiles set bio = 'Hi' returning bio"
            let upload =
                "insert into storage.objects (bucket_id, name) values ('avatars', '\(anna)/b.png') returning name"
            #expect(try await adoption.lines(as: "authenticated", of: anna, write) == ["Hi"])
            #expect(try await adoption.lines(as: "authenticated", of: anna, upload) == ["\(anna)/b.png"])
            try await adoption.database.psql("update auth.users set banned_until = 'infinity'")
            for statement in [write, upload.replacing("b.png", with: "c.png")] {
                await #expect(throws: TestSupportError.self) {
                    _ = try await adoption.lines(as: "authenticated", of: anna, statement)
                }
            }
        }
    }

    @Test func visibilityOwnNarrowsWhenAsked() async throws {
        for scenario in AdoptionScenario.all where scenario.visibility == .own {
            try await AdoptionDatabase.with(scenario) { adoption in
                try await adoption.migrate()
                let read = "select username from public.profiles"
                #expect(try await adoption.lines(as: "anon", read).isEmpty)
                #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, read) == ["anna"])
                let list = "select name from storage.objects where bucket_id = 'avatars'"
                #expect(try await adoption.lines(as: "anon", list).isEmpty)
                #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, list) == ["one.jpeg"])
            }
        }
    }

    @Test func anUnknownVisibilityIsRefused() async throws {
        try await AdoptionDatabase.with(AdoptionScenario(name: "nothing")) { adoption in
            for number in ["0001_foundation", "0002_jobs"] {
                try await adoption.database.cluster.psql(
                    database: adoption.database.name,
                    user: "postgres",
                    files: [Repository.path("sql/migrations/\(number).sql")],
                    singleTransaction: true
                )
            }
            for number in ["0010_profiles", "0011_avatars"] {
                await #expect(throws: TestSupportError.self) {
                    try await TestCluster.command(
                        [
                            "psql", "-X", "-1", "-v", "ON_ERROR_STOP=1", "-d", adoption.database.conninfo,
                            "-f", Repository.path("sql/migrations/\(number).sql"),
                        ],
                        environment: ["PGOPTIONS": "-c \(ProfilesVisibility.settingName)=nobody"]
                    )
                }
            }
            #expect(try await adoption.lines("select to_regclass('public.profiles') is null") == ["t"])
        }
    }
}
