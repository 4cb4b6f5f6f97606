import AccountLifecycle
import Logging
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let verifySingle = Benchmark(
        name: "verify.single",
        summary: "the search for what is left of one account, 60 tables, 540 columns, 1.2 M rows, about 500 MB"
    ) {
        try await VerifySearch().measure(accounts: 1)
    }

    static let verifyBatch = Benchmark(
        name: "verify.batch",
        summary: "the same search for 100 accounts together, per account"
    ) {
        try await VerifySearch().measure(accounts: 100)
    }
}

/// The search of the verify step over 60 tables of 20,000 rows each.
private struct VerifySearch {
    private let rounds = 5
    private let database = "verify"

    func measure(accounts: Int) async throws -> [Figure] {
        try await BenchmarkCluster.with { cluster in
            try await cluster.migratedDatabase(database)
            try await cluster.psql(["-c", Self.tables], database: database)
            let conninfo = cluster.conninfo(database: database, user: "postgres")
            let pooling = PoolConfiguration(connection: ConnectionConfiguration(conninfo: conninfo))
            return try await Pool.withPool(pooling, logger: .silent) { pool in
                let targets = (0..<accounts).map { _ in Self.target() }
                try await Self.plant(targets[0], pool)
                var seconds: [Double] = []
                for round in -1..<rounds {
                    let start = ContinuousClock.now
                    let answers = try await SearchPass.run(targets, keptBuckets: [], pool: pool)
                    let took = start.duration(to: .now) / .seconds(1)
                    guard answers[0].findings.map(\.column) == Self.expected else {
                        throw BenchmarkError("found \(answers[0].findings.map(\.column)), not \(Self.expected)")
                    }
                    // The first round warms the cache.
                    if round >= 0 { seconds.append(took / Double(accounts)) }
                }
                return [
                    Figure(
                        name: accounts == 1 ? "verify.single" : "verify.batch",
                        unit: "s/account",
                        goal: accounts == 1 ? "≤ 1.5 s" : "≤ 0.05 s",
                        values: seconds,
                        floors: []
                    )
                ]
            }
        }
    }

    private static func target() -> SearchTarget {
        let user = UUID()
        let name = user.text.prefix(13)
        let identifiers = [
            Identifier(email: "\(name)@example.com"),
            Identifier(providerID: "001234.\(user.text.filter { $0 != "-" }).0123"),
        ]
        return SearchTarget(request: UUID(), userID: user, identifiers: identifiers.compactMap(\.self))
    }

    /// Plants the id in five forms: another uuid column, nested JSON, a path, free text, and upper case without dashes.
    private static func plant(_ target: SearchTarget, _ pool: Pool) async throws {
        let user = target.userID
        let text = user.text
        try await pool.withConnection { connection in
            try connection.execute("update public.big_1 set owner = \(user) where n = 17")
            try connection.execute(
                "update public.big_2 set data = jsonb_build_object('a', jsonb_build_object('b', \(text)::text)) where n = 17"
            )
            try connection.execute("update public.big_3 set path = \("users/\(text)/me.jpeg") where n = 17")
            try connection.execute("update public.big_4 set note = \("seen by \(text) in May") where n = 17")
            try connection.execute(
                "update public.big_5 set tags = \(user.uuidString.filter { $0 != "-" }) where n = 17"
            )
        }
    }

    private static let expected = [
        "public.big_1.owner", "public.big_2.data", "public.big_3.path", "public.big_4.note", "public.big_5.tags",
    ]

    private static let tables = """
        do $$
        begin
            for i in 1..60 loop
                execute format(
                    'create table public.big_%s (id uuid, owner uuid, note text, title text, body text, data jsonb, '
                    'tags text, path text, n int)', i
                );
                execute format(
                    'insert into public.big_%s select gen_random_uuid(), gen_random_uuid(), ''note '' || md5(g::text), '
                    '''title '' || g, repeat(md5(g::text) || '' '', 4), jsonb_build_object(''a'', md5(g::text), ''b'', '
                    'jsonb_build_object(''u'', gen_random_uuid(), ''c'', g)), ''tag'' || g, '
                    '''users/'' || gen_random_uuid() || ''/f.jpg'', g from generate_series(1, 20000) as g', i
                );
                execute format('grant all on public.big_%s to postgres', i);
            end loop;
        end;
        $$;
        analyze;
        """
}
