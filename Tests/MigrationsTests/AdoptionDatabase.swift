import Migrations
import Postgres
import TestSupport
import Testing

/// A database built from a scenario, which tests inspect, plan for and migrate.
struct AdoptionDatabase: Sendable {
    let database: TestDatabase
    let scenario: AdoptionScenario

    static func with<Result: Sendable>(
        _ scenario: AdoptionScenario,
        _ body: @Sendable (AdoptionDatabase) async throws -> Result
    ) async throws -> Result {
        try await TestDatabase.with(.platform) { database in
            let adoption = AdoptionDatabase(database: database, scenario: scenario)
            try await adoption.platform("allow-storage-policies")
            for fixture in scenario.fixtures {
                try await database.cluster.psql(
                    database: database.name,
                    user: "postgres",
                    files: [Repository.path("sql/tests/fixtures/\(fixture).sql")],
                    singleTransaction: true
                )
            }
            if !scenario.sql.isEmpty { try await database.psql(scenario.sql, user: "postgres") }
            if !scenario.adminSQL.isEmpty { try await database.psql(scenario.adminSQL) }
            return try await body(adoption)
        }
    }

    /// Makes the adoption plan from the current state of the database.
    func plan() async throws -> AdoptionPlan {
        let facts = try await database.withConnection { try await AdoptionFacts.read(on: $0) }
        return AdoptionPlan(facts: facts, visibility: scenario.visibility)
    }

    /// Returns the notes that the migrations recorded.
    func notes() async throws -> [AdoptionNote] {
        try await database.withConnection { try AdoptionNote.all(on: $0) }
    }

    /// Applies every migration as `postgres`, each in its own transaction.
    ///
    /// - Returns: The locks that each migration held at its end on tables that existed before it.
    @discardableResult
    func migrate() async throws -> [Int: [String: TableLock.Mode]] {
        var words = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database.conninfo]
        for path in try Repository.sqlFiles(in: "sql/migrations") {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            let number = try #require(Int(name.prefix(4)))
            words += [
                "-c", "begin",
                "-c", "create temp table had on commit drop as select oid from pg_class",
                "-f", path,
                "-c", Self.locksHeld(by: number),
                "-c", "commit",
            ]
        }
        let output = try await TestCluster.command(
            words,
            environment: [
                "PGOPTIONS": scenario.visibility.map { "-c \(ProfilesVisibility.settingName)=\($0.rawValue)" } ?? ""
            ]
        )
        try await platform("forbid-storage-policies")

        var held: [Int: [String: TableLock.Mode]] = [:]
        for line in output.split(separator: "\n") where line.hasPrefix("lock|") {
            let words = line.split(separator: "|").map(String.init)
            guard let mode = TableLock.Mode(rawValue: words[3]) else { continue }
            let number = try #require(Int(words[1]))
            let strongest = held[number]?[words[2]].map { max($0, mode) } ?? mode
            held[number, default: [:]][words[2]] = strongest
        }
        return held
    }

    /// Runs a query as the superuser and returns its rows as lines.
    func lines(_ query: String) async throws -> [String] {
        try await database.psql(query).split(separator: "\n").map(String.init)
    }

    /// Runs a query as PostgREST would, with a role and a token's claims, and returns its rows as lines.
    func lines(as role: String, of account: String? = nil, _ query: String) async throws -> [String] {
        try await database.psql("begin; \(Self.becoming(role, account)); \(query); commit").split(separator: "\n").map(
            String.init
        )
    }

    /// Runs several queries in one session and returns the rows of each by name; a refused query gives only `refused`.
    func sections(_ queries: [(name: String, sql: String)]) async throws -> [String: [String]] {
        var words = ["psql", "-X", "-q", "-A", "-t", "-d", database.adminConninfo]
        for (name, sql) in queries {
            // The second marker is missing when the query has failed.
            words += ["-c", "rollback; select '== \(name)'", "-c", "begin; \(sql); select '=='; rollback"]
        }
        let output = try await TestCluster.command(words + ["-c", "rollback"])
        var sections: [String: [String]] = [:]
        for section in output.split(separator: "== ") {
            var lines = section.split(separator: "\n").map(String.init)
            guard !lines.isEmpty else { continue }
            let name = lines.removeFirst()
            sections[name] = lines.last == "==" ? lines.dropLast() : ["refused"]
        }
        return sections
    }

    /// Returns SQL that makes the rest of its transaction run as PostgREST would run it, with a role and a token's claims.
    static func becoming(_ role: String, _ account: String?) -> String {
        let claims = account.map { "{\"sub\": \"\($0)\", \"role\": \"\(role)\"}" } ?? ""
        return """
            set local request.jwt.claims = '\(claims)';
            set local role \(role);
            set local storage.operation = 'storage.object.get_authenticated'
            """
    }

    private func platform(_ name: String) async throws {
        try await database.cluster.psql(
            database: database.name,
            files: [Repository.path("sql/platform/\(name).sql")]
        )
    }

    private static func locksHeld(by migration: Int) -> String {
        """
        select
            'lock',
            \(migration),
            n.nspname || '.' || c.relname,
            upper(regexp_replace(regexp_replace(l.mode, 'Lock$', ''), '(?<=[a-z])(?=[A-Z])', ' ', 'g'))
        from pg_locks as l
        join pg_class as c on c.oid = l.relation and c.oid in (select oid from had) and c.relkind in ('r', 'p', 'v')
        join pg_namespace as n on n.oid = c.relnamespace and n.nspname in ('public', 'auth', 'storage')
        where l.pid = pg_backend_pid()
          and l.granted
          and l.locktype = 'relation'
        """
    }
}
