#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let operatorList = Benchmark(
        name: "operator.list",
        summary:
            "`user list --format csv` of 1,000,000 accounts, whole process, against psql's copy of the same columns"
    ) {
        try await OperatorFigures().list()
    }

    static let operatorBulk = Benchmark(
        name: "operator.bulk",
        summary: "`deletion request --file` with 100,000 ids, whole process, against one function call for all in psql"
    ) {
        try await OperatorFigures().bulk()
    }
}

/// The waiting time and memory of an operator's commands on very many accounts.
private struct OperatorFigures {
    private let rounds = 3
    private let database = "operators"
    private static let listed = 1_000_000
    private static let asked = 100_000

    func list() async throws -> [Figure] {
        try await BenchmarkCluster.with { cluster in
            try await fill(Self.listed, in: cluster)
            let psql = try await cluster.psqlProgram
            let program = try Program.accountctl
            let conninfo = cluster.conninfo(database: database, user: "postgres")
            let words = ["user", "list", "--format", "csv", "--database-url", conninfo]
            var (times, floors) = ([Double](), [Double]())
            var seen: [ProcessMemory] = []
            var few: [ProcessMemory] = []
            for _ in 0..<rounds {
                let small = try await program.watch(words + ["--limit", "10000"]) {
                    try await ProcessMemory.peak(of: $0)
                }
                let run = try await program.watch(words) { try await ProcessMemory.peak(of: $0) }
                guard let memory = run.result, let least = small.result else {
                    throw BenchmarkError("there is no /proc")
                }
                times.append(run.seconds)
                seen.append(memory)
                few.append(least)
                floors.append(try await psql.time(["-X", "-d", conninfo, "-c", Self.copy]))
            }
            return [
                Figure(name: "operator.list", unit: "s", goal: "told", values: times, floors: floors),
                // The floor is the memory for 10,000 accounts.
                Figure(
                    name: "operator.list.memory",
                    unit: "MB",
                    goal: "≤ 1.1 × floor",
                    values: seen.map(\.own),
                    floors: few.map(\.own)
                ),
            ]
        }
    }

    func bulk() async throws -> [Figure] {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "accountctl-bulk-\(UUID().uuidString.prefix(8).lowercased())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let ids = folder.appending(path: "ids.txt").path
        let key = folder.appending(path: "hash.key").path
        let settings = folder.appending(path: "accountctl.conf").path
        try (1...Self.asked).map { Self.id($0) + "\n" }.joined().write(toFile: ids, atomically: true, encoding: .utf8)
        let secret = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        try "hash:\(secret)\n".write(toFile: key, atomically: true, encoding: .utf8)
        return try await BenchmarkCluster.with { cluster in
            try await fill(Self.asked, in: cluster)
            let conninfo = cluster.conninfo(database: database, user: "postgres")
            try "[database]\nurl = \(conninfo)\n[keys]\nhash_file = \(key)\n"
                .write(toFile: settings, atomically: true, encoding: .utf8)
            let psql = try await cluster.psqlProgram
            let program = try Program.accountctl
            let words = [
                "deletion", "request", "--file", ids, "--confirm=\(Self.asked)", "--reason", "idle", "--config",
                settings,
            ]
            var (rates, floors) = ([Double](), [Double]())
            var seen: [ProcessMemory] = []
            for _ in 0..<rounds {
                try await empty(cluster)
                floors.append(Double(Self.asked) / (try await psql.time(["-X", "-d", conninfo, "-c", Self.ask])))
                try await empty(cluster)
                try? FileManager.default.removeItem(atPath: ids + ".results.ndjson")
                let run = try await program.watch(words) { try await ProcessMemory.peak(of: $0) }
                rates.append(Double(Self.asked) / run.seconds)
                let open = try await cluster.psql(
                    ["-c", "select count(distinct user_id) from accountctl.deletion_requests"],
                    database: database
                )
                guard open.filter(\.isNumber) == "\(Self.asked)", let memory = run.result else {
                    throw BenchmarkError("\(open) requests of \(Self.asked), or no /proc")
                }
                seen.append(memory)
            }
            return [
                Figure(name: "operator.bulk", unit: "accounts/s", goal: "told", values: rates, floors: floors),
                Figure(name: "operator.bulk.memory", unit: "MB", goal: "told", values: seen.map(\.own)),
            ]
        }
    }

    /// Without triggers, since a million individual sign-ups are not what is measured.
    private func fill(_ count: Int, in cluster: BenchmarkCluster) async throws {
        try await cluster.migratedDatabase(database)
        let rows = """
            set session_replication_role = replica;
            insert into auth.users (instance_id, id, aud, role, email, created_at, updated_at)
            select
                '00000000-0000-0000-0000-000000000000', ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
                'authenticated', 'authenticated', 'person-' || n || '@example.com', now(), now()
            from generate_series(1, \(count)) as n;
            insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
            select '001234.' || lpad(n::text, 32, '0') || '.0001',
                ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, '{}', 'apple', now()
            from generate_series(1, \(count)) as n
            """
        try await cluster.psql(["-c", rows], database: database)
        try await cluster.psql(["-c", "vacuum analyze"], database: database)
    }

    /// Removes all requests.
    private func empty(_ cluster: BenchmarkCluster) async throws {
        let text = """
            set session_replication_role = replica;
            truncate accountctl.deletion_requests, accountctl.deletion_status_tokens, accountctl.deletion_steps,
                accountctl.deletion_receipts, accountctl.jobs, accountctl.operator_log cascade
            """
        try await cluster.psql(["-c", text], database: database)
    }

    private static func id(_ number: Int) -> String {
        let text = String(number)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - text.count) + text
    }

    private static let copy = """
        copy (
            select u.id, u.email, u.created_at, u.last_sign_in_at, u.banned_until, u.deleted_at, u.is_anonymous,
                (select array_agg(i.provider) from auth.identities as i where i.user_id = u.id),
                (
                    select r.state
                    from accountctl.deletion_requests as r
                    where r.user_id = u.id
                      and r.finished_at is null
                )
            from auth.users as u
            order by u.id
        ) to stdout csv
        """

    private static let ask = """
        select count(request_id)
        from auth.users as u
        cross join lateral accountctl.open_deletion_request(u.id, 'operator', 'idle')
        """
}
