extension Benchmark {
    static let lookupFind = Benchmark(
        name: "lookup.find",
        summary: "`user find` by each key among 1,000,000 accounts, whole process, against psql with one indexed query"
    ) {
        try await LookupFind().measure()
    }
}

/// What an operator waits for who looks one account up, by whatever they were told.
private struct LookupFind {
    private let rounds = 11
    private let database = "directory"
    private static let users = 1_000_000

    /// Each kind of term, of the account with a given number, and the start of one.
    private static let keys: [(name: String, words: @Sendable (Int) -> [String])] = [
        ("id", { [id($0)] }),
        ("email", { ["Person-\($0)@Example.com"] }),
        ("phone", { ["+\(phone($0))"] }),
        ("apple-sub", { [sub($0)] }),
        ("username", { ["person_\($0)"] }),
        ("relay", { ["relay-\($0)@privaterelay.appleid.com"] }),
        ("prefix", { ["--prefix", "person-\($0)@"] }),
        ("prefix-phone", { ["--prefix", "+\(phone($0).dropLast())"] }),
    ]

    func measure() async throws -> [Figure] {
        try await BenchmarkCluster.with { cluster in
            try await cluster.migratedDatabase(database)
            try await cluster.psql(["-c", Self.filling], database: database)
            // Not in the string above, which is one transaction.
            try await cluster.psql(["-c", "vacuum analyze"], database: database)
            let psql = try await cluster.psqlProgram
            let program = try Program.accountctl
            let conninfo = cluster.conninfo(database: database, user: "postgres")
            var times: [String: [Double]] = [:]
            var floors: [Double] = []
            // Taken in turn, so that a noisy moment hits all; the first round warms the cache.
            for round in -1..<rounds {
                let number = Int.random(in: 1...Self.users)
                let query = "select id, email, created_at from auth.users where id = '\(Self.id(number))'"
                let floor = try await psql.time(["-X", "-d", conninfo, "-c", query])
                if round >= 0 { floors.append(floor * 1000) }
                for key in Self.keys {
                    // Ends with 3 where nobody is found, which would be thrown.
                    let time = try await program.time(
                        ["user", "find"] + key.words(number) + ["--database-url", conninfo]
                    )
                    if round >= 0 { times[key.name, default: []].append(time * 1000) }
                }
            }
            let worst = times.values.max { Figure.median($0) < Figure.median($1) } ?? []
            var figures = [
                Figure(name: "lookup.find", unit: "ms", goal: "≤ 1.5 × floor", values: worst, floors: floors)
            ]
            for key in Self.keys {
                figures.append(
                    Figure(
                        name: "lookup.find.\(key.name)",
                        unit: "ms",
                        goal: "≤ 1.5 × floor",
                        values: times[key.name] ?? [],
                        floors: floors
                    )
                )
            }
            return figures
        }
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: count - text.count) + text
    }

    private static func id(_ number: Int) -> String { "00000000-0000-4000-8000-\(digits(number, 12))" }

    private static func phone(_ number: Int) -> String { "49151\(digits(number, 8))" }

    private static func sub(_ number: Int) -> String { "001234.\(digits(number, 32)).0001" }

    /// Without triggers: a million sign-ups one by one are not what is measured.
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
