#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Benchmark {
    static let migrateApply = Benchmark(
        name: "migrate.apply",
        summary:
            "200 small migrations, each in its own transaction, whole process, against `psql -1 -f` of the same SQL"
    ) {
        let rounds = 7
        // On a server with default settings, which flushes at every commit, since that is the cost of one transaction
        // per migration.
        return try await BenchmarkCluster.with(settings: []) { cluster in
            let migrations = try SmallMigrations(folder: cluster.folder + "/small")
            let psql = try await cluster.psqlProgram
            var times: [Double] = []
            var floors: [Double] = []
            for round in 0..<rounds {
                let bare = cluster.conninfo(database: try await database("bare_\(round)", cluster))
                floors.append(
                    try await psql.time(["-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-d", bare, "-f", migrations.whole])
                )
                let own = cluster.conninfo(database: try await database("own_\(round)", cluster))
                times.append(try await Program.own.time(["apply", migrations.folder, "--database-url", own]))
            }
            return [
                Figure(name: "migrate.apply", unit: "s", goal: "≤ 2 × floor", values: times, floors: floors)
            ]
        }
    }

    static let migrateIdle = Benchmark(
        name: "migrate.idle",
        summary: "`migrate up` where there is nothing to do, whole process"
    ) {
        let rounds = 21
        return try await BenchmarkCluster.with { cluster in
            let name = try await database("idle", cluster)
            let sql = BenchmarkCluster.repository + "/sql/platform/"
            try await cluster.psql(["-f", sql + "database.sql"], database: name)
            try await cluster.psql(["-f", sql + "allow-storage-policies.sql"], database: name)
            let program = try Program.accountctl
            let arguments = ["migrate", "up", "--database-url", cluster.conninfo(database: name, user: "postgres")]
            _ = try await program.time(arguments)
            var times: [Double] = []
            for _ in 0..<rounds { times.append(try await program.time(arguments)) }
            return [Figure(name: "migrate.idle", unit: "s", goal: "≤ 0.05 s", values: times)]
        }
    }

    private static func database(_ name: String, _ cluster: BenchmarkCluster) async throws -> String {
        try await cluster.psql(["-c", "create database \(name) template template0 owner postgres"])
        return name
    }
}

/// 200 typical migrations of an app: a table, an index, a column, a function.
private struct SmallMigrations {
    /// The folder with one file for each migration.
    let folder: String
    /// All migrations in one file.
    let whole: String

    init(folder: String) throws {
        self.folder = folder
        whole = folder + ".sql"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var texts: [String] = []
        for number in 0..<200 {
            let table = "public.small_\(number / 4)"
            let text =
                switch number % 4 {
                case 0:
                    "create table \(table) (id bigint generated always as identity primary key, name text not null);"
                case 1: "create index on \(table) (name);"
                case 2: "alter table \(table) add column note text not null default '';"
                default:
                    "create function \(table)_count() returns bigint language sql as 'select count(*) from \(table)';"
                }
            texts.append(text)
        }
        for (number, text) in texts.enumerated() {
            let name = String(1000 + number) + "_small.sql"
            let file = "-- accountctl: bundle=small\n\(text)\n"
            try file.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
        }
        try texts.joined(separator: "\n").write(toFile: whole, atomically: true, encoding: .utf8)
    }
}
