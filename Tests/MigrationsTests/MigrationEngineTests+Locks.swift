import Foundation
import Migrations
import Postgres
import TestSupport
import Testing

extension MigrationEngineTests {
    @Test("Many runs that start at once all succeed, and each migration is applied once")
    func manyStarters() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int); select pg_sleep(0.05);"),
                Self.migration(2, "insert into t values (1); create type ty as enum ('a');"),
                Self.migration(3, "create index t_i on t (i);")
            )
            let applied = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await Self.up(set, database).applied.count } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(applied.sorted() == [0, 0, 0, 0, 0, 3])
            #expect(try await database.psql("select count(*) from t") == "1")
        }
    }

    @Test("A session that holds the lock for too long is named")
    func lockHeld() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(Self.migration(1, "create table t (i int);"))
            var options = MigrationEngine.Options()
            options.processPatience = .milliseconds(100)
            let holder = ConnectionConfiguration(conninfo: database.conninfo + " application_name=holder")
            try await Connection.with(holder, logger: Self.logger) { [options] connection in
                try connection.execute("select pg_advisory_lock(\(Int64(0x6163_636F_756E_7463)))")
                let error = await #expect(throws: MigrationError.self) {
                    try await Self.up(set, database, options: options)
                }
                #expect(error?.code == .lockHeld)
                #expect(error?.message.contains("role postgres (holder)") == true)
                let pid = connection.backendPID
                #expect(error?.hint?.hasSuffix("If its program is gone: select pg_terminate_backend(\(pid))") == true)
            }
        }
    }

    @Test("A run waits for a table locked by others in many short attempts, and names the blocker")
    func lockTimeout() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "alter table t add column j int;")
            )
            try await Self.up(try Self.set(set.migrations[0]), database)
            var options = MigrationEngine.Options()
            options.lockTimeout = .milliseconds(100)
            options.lockPatience = .seconds(20)
            let blocked = Collected()
            let (signal, blockedAgain) = AsyncStream<Void>.makeStream()
            let reader = ConnectionConfiguration(conninfo: database.conninfo + " application_name=reader")
            try await Connection.with(reader, logger: Self.logger) { [options] connection in
                try connection.execute("begin")
                try connection.execute("select * from t")
                async let running = Self.up(
                    set,
                    database,
                    options: options,
                    event: { event in
                        if case .blocked(_, let blockers, _) = event, !blockers.isEmpty {
                            blocked.add(blockers.map(\.description))
                            blockedAgain.yield()
                        }
                    }
                )
                for await _ in signal { break }
                try connection.execute("commit")
                #expect(try await running.applied == ["0002_step.sql"])
            }
            #expect(blocked.all.first?.contains("role postgres (reader), idle in transaction") == true)
        }
    }

    /// From PostgreSQL 17 on, a policy is printed only with its table open.
    @Test("A table of the app that somebody has locked does not keep the plan waiting")
    func appTableIsLocked() async throws {
        try await TestDatabase.withPlatform { database in
            try await database.psql(
                """
                create table public.orders (owner uuid);
                create policy own on public.orders using (owner = auth.uid());
                """
            )
            try await database.withConnection(asAdministrator: true) { connection in
                try connection.execute("begin")
                try connection.execute("lock table public.orders in access exclusive mode")
                let items = try await database.withConnection { try await AdoptionPlan.pending([10], nil, on: $0) }
                #expect(!items.isEmpty)
            }
        }
    }

    /// The server cancels an autovacuum only for a session that waits longer than a usual try.
    @Test("An autovacuum that would hold a table for minutes is named and makes way")
    func autovacuum() async throws {
        let slow = ["autovacuum_naptime=1s", "autovacuum_vacuum_cost_delay=100ms", "autovacuum_vacuum_cost_limit=1"]
        try await TestCluster.with(settings: slow) { cluster in
            try await TestDatabase.with(.empty, in: cluster) { database in
                let set = try Self.set(
                    Self.migration(1, "create table t (i int, filler text);"),
                    Self.migration(2, "alter table t add column j int;")
                )
                try await Self.up(try Self.set(set.migrations[0]), database)
                // More than a thousand pages, each of which takes a tenth of a second or more.
                try await database.psql("insert into t select n, repeat('x', 500) from generate_series(1, 20000) as n")
                try await database.psql("delete from t where i % 2 = 0")
                try await database.waitUntilRunning("VACUUM%public.t")
                var options = MigrationEngine.Options()
                options.lockPatience = .seconds(60)
                let blocked = Collected()
                let report = try await Self.up(
                    set,
                    database,
                    options: options,
                    event: { event in
                        if case .blocked(_, let blockers, _) = event { blocked.add(blockers.map(\.description)) }
                    }
                )
                #expect(report.applied == ["0002_step.sql"])
                #expect(blocked.all.contains { $0.hasPrefix("autovacuum (server process ") }, "\(blocked.all)")
            }
        }
    }

    @Test("A migration that never gets its lock gives up and leaves nothing behind")
    func lockNeverComes() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(1, "create table t (i int);")
            try await Self.up(try Self.set(first), database)
            let set = try Self.set(first, Self.migration(2, "create table u (i int); alter table t add column j int;"))
            var options = MigrationEngine.Options()
            options.lockTimeout = .milliseconds(50)
            options.lockPatience = .milliseconds(200)
            try await database.withConnection { [options] connection in
                try connection.execute("begin")
                try connection.execute("lock table t in access share mode")
                let error = await #expect(throws: MigrationError.self) {
                    try await Self.up(set, database, options: options)
                }
                #expect(error?.code == .lockTimeout)
                try connection.execute("commit")
            }
            #expect(try await database.psql("select to_regclass('u') is null") == "t")
        }
    }
}
