import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// What keeps dead rows from vacuum, as the figures count it and the doctor names it.
@Suite(.timeLimit(.minutes(5))) struct DeadRowKeeperTests {
    /// The most common keeper: a transaction that has written has no snapshot between two statements, and keeps dead
    /// rows all the same.
    @Test func aTransactionThatHasWrittenAndWaitsIsOne() async throws {
        try await JobHarness.with { harness in
            try await harness.database.withConnection { idle in
                let pid = try idle.one("select pg_backend_pid()", as: Int.self)
                try await idle.transaction { idle in
                    // By the simple query protocol: what the extended one leaves open keeps its snapshot until the next
                    // statement.
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

    /// Ending the session that reads here would not help: its next snapshot would be as old.
    @Test func whatWritesElsewhereIsOneWhereSomebodyReadsHere() async throws {
        try await JobHarness.with { harness in
            try await TestDatabase.with(.empty) { other in
                try await other.withConnection { writer in
                    try await writer.transaction { writer in
                        try writer.script(unsafeSQL: "select pg_current_xact_id()")
                        // Another session may have written for longer in a database of its own, and ends meanwhile.
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

    /// The snapshot of the session that asks is as old as the oldest transaction that writes elsewhere, but ending that
    /// session would not help.
    @Test func whoAsksIsNone() async throws {
        try await JobHarness.with { harness in
            let (asker, keeper) = try await harness.database.withConnection { connection in
                (connection.backendPID, try harness.queue.oldestKeeper(on: connection))
            }
            #expect(keeper?.name.hasPrefix("server process \(asker) ") != true)
        }
    }

    /// Vacuums of this database ignore such a transaction, and ending it would not help.
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
                        #expect(try await harness.count(keeps) == 1)
                        #expect(try await harness.count("\(keeps) and k.is_here") == 0)
                    }
                }
            }
        }
    }

    /// A vacuum has a snapshot for as long as it runs, which may be hours, but other vacuums ignore that snapshot.
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
                    // This vacuum is cancelled once the test has looked at it.
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
