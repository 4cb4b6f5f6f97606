import Testing

/// The content of a database and the rights to read it, at one moment.
struct AdoptionSnapshot {
    /// The app's own rows, columns and policies, by kind.
    let kept: [String: [String]]
    /// The grants on the table `profiles` and on its columns.
    let grants: Set<String>
    /// The rows that each kind of reader sees, by reader and table.
    let seen: [String: [String]]

    /// Expects that a later snapshot still contains all of this, and that no reader sees less.
    func expectNothingLost(in later: AdoptionSnapshot, narrowed: Bool) {
        for (name, lines) in kept where lines != ["refused"] {
            #expect(later.kept[name] == lines, "\(name)")
        }
        // The grants on an existing table were the decision of its creator.
        if kept["columns"] != ["refused"] { #expect(grants == later.grants) }
        guard !narrowed else { return }
        // A reader who was refused because a grant or the table was missing may have gained access since.
        for (name, lines) in seen where lines != ["refused"] {
            #expect(later.seen[name] == lines, "\(name)")
        }
    }
}

extension AdoptionDatabase {
    func snapshot() async throws -> AdoptionSnapshot {
        let kept = try await sections(Self.kept)
        var readers: [(name: String, sql: String)] = []
        for (role, account) in [
            ("anon", nil), ("authenticated", AdoptionScenario.anna), ("authenticated", AdoptionScenario.bert),
        ] {
            let reader = Self.becoming(role, account)
            for (name, sql) in Self.read {
                readers.append(("\(role) \(account ?? "") \(name)", "\(reader); \(sql)"))
            }
        }
        return AdoptionSnapshot(
            kept: kept,
            grants: Set(try await sections([("grants", Self.grants)])["grants", default: []]),
            seen: try await sections(readers)
        )
    }

    private static let read = [
        (name: "profiles", sql: "select to_jsonb(p) from public.profiles as p order by 1"),
        (name: "objects", sql: "select bucket_id, name from storage.objects order by 1, 2"),
    ]

    private static let kept = [
        (name: "profiles", sql: "select to_jsonb(p) from public.profiles as p order by 1"),
        (name: "objects", sql: "select to_jsonb(o) from storage.objects as o order by 1"),
        (name: "users", sql: "select to_jsonb(u) from auth.users as u order by 1"),
        (
            name: "buckets",
            // The bucket that the migrations create in a database without one is left out.
            sql: "select to_jsonb(b) from storage.buckets as b where b.id <> 'avatars' or b.public order by 1"
        ),
        (
            name: "columns",
            sql: """
            select a.attname, a.atttypid::regtype, a.attnotnull
            from pg_attribute as a
            where a.attrelid = 'public.profiles'::regclass and a.attnum > 0
            order by 1
            """
        ),
        (
            name: "policies",
            sql: """
            select tablename, policyname, permissive, roles, cmd, qual, with_check
            from pg_policies
            where schemaname in ('public', 'storage')
              and policyname !~ '^(profiles|avatars)_(select|(insert|update|delete)_(own|open))$'
              and policyname not in (
                  'Public profiles are viewable by everyone.', 'Users can insert their own profile.',
                  'Users can update own profile.', 'Avatar images are publicly accessible.',
                  'Anyone can upload an avatar.', 'Anyone can update their own avatar.'
              )
            order by 1, 2
            """
        ),
    ]

    private static let grants = """
        select '', grantee::regrole, privilege_type
        from pg_class as c
        cross join aclexplode(c.relacl)
        where c.oid = to_regclass('public.profiles')
        union all
        select attname, grantee::regrole, privilege_type
        from pg_attribute as a
        cross join aclexplode(a.attacl)
        where a.attrelid = to_regclass('public.profiles')
        """
}
