import Migrations
import TestSupport
import Testing

/// Adopting a database loses nothing: no row, no column, no policy of the app's own, nobody's right to read, no sign-up.
@Suite struct AdoptionTests {
    static let adopted = AdoptionScenario.all.filter { !$0.fixtures.isEmpty }

    private static let people = [
        ("anon", nil), ("authenticated", AdoptionScenario.anna), ("authenticated", AdoptionScenario.bert),
    ]

    @Test(arguments: adopted) func nothingIsLost(_ scenario: AdoptionScenario) async throws {
        try await AdoptionDatabase.with(scenario) { adoption in
            let kept = [
                "select to_jsonb(p) from public.profiles as p order by 1",
                "select to_jsonb(o) from storage.objects as o order by 1",
                "select to_jsonb(b) from storage.buckets as b order by 1",
                "select to_jsonb(u) from auth.users as u order by 1",
                """
                select a.attname, a.atttypid::regtype, a.attnotnull
                from pg_attribute as a
                where a.attrelid = 'public.profiles'::regclass and a.attnum > 0 order by 1
                """,
                Self.ownPolicies,
            ]
            var before: [[String]] = []
            for query in kept { before.append(try await adoption.lines(query)) }
            let seen = try await visible(in: adoption)
            let grants = Set(try await adoption.lines(Self.grants))

            try await adoption.migrate()

            #expect(grants.isSubset(of: try await adoption.lines(Self.grants)))
            for (query, lines) in zip(kept, before) {
                #expect(try await adoption.lines(query) == lines, "\(query)")
            }
            guard scenario.visibility != .own else { return }
            // Nobody reads less. Who was refused outright, for want of a grant, may have got it.
            for (now, then) in zip(try await visible(in: adoption), seen) where then != ["refused"] {
                #expect(now == then)
            }
        }
    }

    @Test(arguments: AdoptionScenario.starters) func aStarterGetsWhatItLacks(_ scenario: AdoptionScenario) async throws
    {
        try await AdoptionDatabase.with(scenario) { adoption in
            let deletion = "delete from auth.users where id = '\(AdoptionScenario.anna)'"
            await #expect(throws: TestSupportError.self, "the starter's key blocks") {
                try await adoption.database.psql(deletion)
            }
            try await adoption.migrate()

            // Signing up, by the Auth server's own role; a profile that is there already is no error.
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

            // One's own files can be deleted, others' not.
            let delete = """
                set local storage.allow_delete_query = 'true';
                set local storage.operation = 'storage.object.delete_many';
                delete from storage.objects where bucket_id = 'avatars' returning name
                """
            #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.bert, delete) == ["two.jpeg"])

            // Uploading as somebody else, or signed in as nobody, is over.
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

    @Test func rulesThatRowsBreakAreLeftOff() async throws {
        let scenario = AdoptionScenario(name: "short", fixtures: ["starter_documentation", "short_usernames"])
        try await AdoptionDatabase.with(scenario) { adoption in
            try await adoption.migrate()
            let notes = try await adoption.notes().filter { $0.item.hasPrefix("profiles.username") }
            #expect(
                Dictionary(uniqueKeysWithValues: notes.map { ($0.item, $0.reason ?? "") }) == [
                    "profiles.username_unique": "1 usernames are there more than once",
                    "profiles.username_length": "2 usernames are shorter than three characters",
                ]
            )
            #expect(notes.allSatisfy { $0.decision == "left_off" })
            // The rows that would break the rule can still be written.
            let update =
                "update public.profiles set website = 'x' where id = '\(AdoptionScenario.anna)' returning username"
            #expect(try await adoption.lines(as: "authenticated", of: AdoptionScenario.anna, update) == ["ab"])
        }
    }

    @Test func rulesThatNoRowBreaksAreAdded() async throws {
        let scenario = try #require(AdoptionScenario.all.first { $0.name == "no rules on usernames, and none broken" })
        try await AdoptionDatabase.with(scenario) { adoption in
            try await adoption.migrate()
            let rules = """
                select conname, convalidated from pg_constraint
                where conrelid = 'public.profiles'::regclass and contype in ('c', 'u') order by 1
                """
            #expect(try await adoption.lines(rules) == ["profiles_username_key|t", "username_length|t"])
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

    /// What each kind of reader sees of profiles and avatars.
    private func visible(in adoption: AdoptionDatabase) async throws -> [[String]] {
        var seen: [[String]] = []
        for (role, account) in Self.people {
            for query in [
                "select to_jsonb(p) from public.profiles as p order by 1",
                "select bucket_id, name from storage.objects order by 1, 2",
            ] {
                let lines = try? await adoption.lines(as: role, of: account, query)
                seen.append(lines ?? ["refused"])
            }
        }
        return seen
    }

    /// Who may do what with profiles.
    private static let grants = """
        select grantee::regrole, privilege_type
        from pg_class as c
        cross join aclexplode(c.relacl)
        where c.oid = 'public.profiles'::regclass
        """

    /// Policies that no published starter has, and that are not ours.
    private static let ownPolicies = """
        select tablename, policyname, permissive, roles, cmd, qual, with_check
        from pg_policies
        where schemaname in ('public', 'storage')
          and policyname !~ '^(profiles|avatars)_(select|(insert|update|delete)_(own|open))$'
          and policyname not in (
              'Public profiles are viewable by everyone.', 'Users can insert their own profile.',
              'Users can update own profile.', 'Avatar images are publicly accessible.', 'Anyone can upload an avatar.',
              'Anyone can update their own avatar.'
          )
        order by 1, 2
        """
}
