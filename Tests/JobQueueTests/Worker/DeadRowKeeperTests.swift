import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What keeps dead rows, as the figures count it and the doctor names it.
@Suite(.timeLimit(.minutes(5))) struct DeadRowKeeperTests {
    /// The most usual of all: between two statements it has no snapshot, and keeps dead rows all the same.
    @Test func aTransactionThatHasWrittenAndWaitsIsOne() async throws {
        try await JobHarness.with { harness in
            try await harness.database.withConnection { idle in
                let pid = try idle.one("select pg_backend_pid()", as: Int.self)
                try await idle.transaction { idle in
                    // By the simple protocol: what the other one leaves open keeps its snapshot until the next statement.
                    try idle.script(unsafeSQL: "select pg_current_xact_id()")
                    for _ in 0..<3 { try await harness.execute("select pg_current_xact_id()") }
                    let (keeper, figures) = try await harness.pool.withConnection { connection in
                        try (harness.queue.oldestKeeper(on: connection), harness.queue.figures(on: connection))
                    }
                    #expect(keeper?.name.hasPrefix("server process \(pid) of role postgres") == true)
                    #expect(keeper?.ending == "select pg_terminate_backend(\(pid))")
                    #expect(figures.oldestXminAge >= 3 && figures.oldestSnapshot > 0)
                }
            }
        }
    }

    /// Who ends the session that reads ends nothing: its next snapshot is as old again.
    @Test func whatWritesElsewhereIsOneWhereSomebodyReadsHere() async throws {
        try await JobHarness.with { harness in
            try await TestDatabase.with(.empty) { other in
                try await other.withConnection { writer in
                    try await writer.transaction { writer in
                        try writer.script(unsafeSQL: "select pg_current_xact_id()")
                        // In a database of its own somebody may have written for longer, and ends meanwhile.
                        try await harness.until {
                            try await harness.database.withConnection { reader in
                                try await reader.transaction(isolation: .repeatableRead) { reader in
                                    try reader.script(unsafeSQL: "select 1")
                                    let keeper = try await harness.pool.withConnection { connection in
                                        try harness.queue.oldestKeeper(on: connection)
                                    }
                                    return keeper?.name.contains(" in the database ") == true
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Its own snapshot is as old as the oldest transaction that writes elsewhere, and who ends the asker ends nothing.
    @Test func whoAsksIsNone() async throws {
        try await JobHarness.with { harness in
            let (asker, keeper) = try await harness.database.withConnection { connection in
                (connection.backendPID, try harness.queue.oldestKeeper(on: connection))
            }
            #expect(keeper?.name.hasPrefix("server process \(asker) ") != true)
        }
    }

    /// Vacuums of this database do not wait for it, and who ends it ends nothing.
    @Test func aTransactionOfAnotherDatabaseIsNone() async throws {
        try await JobHarness.with { harness in
            try await TestDatabase.with(.empty) { other in
                try await other.withConnection { writer in
                    let pid = writer.backendPID
                    try await writer.transaction { writer in
                        try writer.script(unsafeSQL: "select pg_current_xact_id()")
                        let writes: Statement = """
                            select count(*) from pg_stat_activity where pid = \(pid) and backend_xid is not null
                            """
                        #expect(try await harness.count(writes) == 1)
                        let keeps: Statement = "select count(*) from (\(DeadRowKeeper.all)) as k where k.pid = \(pid)"
                        #expect(try await harness.count(keeps) == 0)
                    }
                }
            }
        }
    }

    /// It has a snapshot for as long as it runs, which may be hours, and no other vacuum looks at that.
    @Test func aVacuumIsNone() async throws {
        try await JobHarness.with { harness in
            try await harness.database.psql(
                """
                create table public.big as select n, repeat('x', 500) as text from generate_series(1, 3000) as n;
                delete from public.big where n % 2 = 0
                """
            )
            try await runBeside(
                [harness.database],
                run: { database in
                    // Cancelled when it has been looked at.
                    _ = try? await database.withConnection(asAdministrator: true) { connection in
                        try connection.execute("set vacuum_cost_delay = 50")
                        try connection.execute("set vacuum_cost_limit = 1")
                        try connection.execute("vacuum public.big")
                    }
                }
            ) {
                let running = "select pid from pg_stat_progress_vacuum where relid = 'public.big'::regclass"
                try await harness.until { try await !harness.database.psql(running).isEmpty }
                let pid = try await harness.database.psql(running)
                for _ in 0..<3 { try await harness.execute("select pg_current_xact_id()") }
                let keeper = try await harness.pool.withConnection { connection in
                    try harness.queue.oldestKeeper(on: connection)
                }
                #expect(keeper?.name.hasPrefix("server process \(pid) ") != true)
            }
        }
    }
}
