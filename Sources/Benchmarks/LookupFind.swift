extension Benchmark {
    static let lookupFind = Benchmark(
        name: "lookup.find",
        summary: "`user find` by each key among 1,000,000 accounts, whole process, against psql asked for the same"
    ) {
        try await LookupFind().measure()
    }
}

/// The time an operator waits when looking an account up by any of its identifiers.
private struct LookupFind {
    private let rounds = 101
    private let database = "directory"
    private static let users = 1_000_000

    /// A kind of search term: its command-line form, and the condition for psql when the kind is known.
    private struct Key: Sendable {
        let name: String
        let words: @Sendable (Int) -> [String]
        let condition: @Sendable (Int) -> String
    }

    /// The terms for the account with a given number.
    private static let keys = [
        Key(name: "id", words: { [id($0)] }, condition: { "u.id = '\(id($0))'" }),
        Key(
            name: "email",
            words: { ["Person-\($0)@Example.com"] },
            condition: { "u.email = 'person-\($0)@example.com' and u.is_sso_user = false" }
        ),
        Key(name: "phone", words: { ["+\(phone($0))"] }, condition: { "u.phone = '\(phone($0))'" }),
        Key(
            name: "apple-sub",
            words: { [sub($0)] },
            condition: {
                "u.id = (select user_id from auth.identities where provider_id = '\(sub($0))' and provider = 'apple')"
            }
        ),
        Key(
            name: "username",
            words: { ["person_\($0)"] },
            condition: { "u.id = (select id from public.profiles where username = 'person_\($0)')" }
        ),
        Key(
            name: "relay",
            words: { ["relay-\($0)@privaterelay.appleid.com"] },
            condition: {
                "u.id in (select user_id from auth.identities where email = 'relay-\($0)@privaterelay.appleid.com')"
            }
        ),
        Key(
            name: "prefix",
            words: { ["--prefix", "person-\($0)@"] },
            // In ASCII, A follows @.
            condition: { "u.email >= 'person-\($0)@' and u.email < 'person-\($0)A' and u.is_sso_user = false" }
        ),
        Key(
            name: "prefix-phone",
            words: { ["--prefix", "+\(phone($0).dropLast())"] },
            // In ASCII, a colon follows 9.
            condition: { "u.phone >= '\(phone($0).dropLast())' and u.phone < '\(phone($0).dropLast()):'" }
        ),
    ]

    /// Everything that find reports about an account, in one statement: its permissions, its sign-in methods and its
    /// deletion state.
    private static let answer = """
        select
            u.id, u.email, u.phone, u.created_at, u.last_sign_in_at,
            array(select i.provider from auth.identities as i where i.user_id = u.id) as providers,
            case
                when r.id is not null then 'deletion_' || r.state
                when u.deleted_at is not null then 'soft_deleted'
                when u.banned_until > now() then 'banned'
                else 'active'
            end as state,
            r.id as request, r.legal_deadline,
            (
                select s.step from accountctl.deletion_steps as s
                where s.request_id = r.id order by s.started_at desc nulls last limit 1
            ) as step,
            exists (select from accountctl.holds as h where h.user_id = u.id) as held
        from auth.users as u
        left join accountctl.deletion_requests as r on r.user_id = u.id and r.finished_at is null
        where
        """

    func measure() async throws -> [Figure] {
        try await BenchmarkCluster.with { cluster in
            try await cluster.migratedDatabase(database)
            try await cluster.psql(["-c", Self.filling], database: database)
            // Not in the string above, which runs as one transaction.
            try await cluster.psql(["-c", "vacuum analyze"], database: database)
            let psql = try await cluster.psqlProgram
            let program = try Program.accountctl
            let conninfo = cluster.conninfo(database: database, user: "postgres")
            var times: [String: [Double]] = [:]
            var floors: [String: [Double]] = [:]
            // Alternating, so that a noisy moment affects all; the first round warms the cache.
            for round in -1..<rounds {
                let number = Int.random(in: 1...Self.users)
                for key in Self.keys {
                    let query = Self.answer + " " + key.condition(number)
                    let floor = try await psql.time(["-X", "-d", conninfo, "-c", query])
                    if round >= 0 { floors[key.name, default: []].append(floor * 1000) }
                    // Exits with 3 if nobody is found, which would be thrown as an error.
                    let time = try await program.time(
                        ["user", "find"] + key.words(number) + ["--database-url", conninfo]
                    )
                    if round >= 0 { times[key.name, default: []].append(time * 1000) }
                }
            }
            let figures = Self.keys.map { key in
                Figure(
                    name: "lookup.find.\(key.name)",
                    unit: "ms",
                    goal: "≤ 1.5 × floor",
                    values: times[key.name] ?? [],
                    floors: floors[key.name] ?? []
                )
            }
            guard var worst = figures.max(by: { ($0.ratio ?? 0) < ($1.ratio ?? 0) }) else { return [] }
            worst.name = "lookup.find"
            return [worst] + figures
        }
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: count - text.count) + text
    }

    private static func id(_ number: Int) -> String { "00000000-0000-4000-8000-\(digits(number, 12))" }

    private static func phone(_ number: Int) -> String { "49151\(digits(number, 8))" }

    private static func sub(_ number: Int) -> String { "001234.\(digits(number, 32)).0001" }

    /// Without triggers, since a million individual sign-ups are not what is measured.
    private static let filling = """
        set session_replication_role = replica;
        insert into auth.users (
            instance_id, id, aud, role, email, phone, raw_app_meta_data, raw_user_meta_data, created_at, updated_at
        )
        select
            '00000000-0000-0000-0000-000000000000', ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
            'authenticated', 'authenticated', 'person-' || n || '@example.com', '49151' || lpad(n::text, 8, '0'),
            '{"provider": "apple"}', '{}', now(), now()
        from generate_series(1, \(users)) as n;
        insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
        select
            '001234.' || lpad(n::text, 32, '0') || '.0001',
            ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
            jsonb_build_object('email', 'relay-' || n || '@privaterelay.appleid.com'), 'apple', now()
        from generate_series(1, \(users)) as n;
        insert into public.profiles (id, username)
        select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'person_' || n
        from generate_series(1, \(users)) as n
        """
}
