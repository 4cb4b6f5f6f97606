import Foundation
import Postgres
import TestSupport
import Testing

@Suite("A table that another session has locked", .timeLimit(.minutes(5)))
struct LockedTableTests {
    @Test("A command that waits too long for a lock says so, and that it may be tried again")
    func told() async throws {
        try await OperatorStage.with { stage in
            let hurried = OperatorStage(
                database: stage.database,
                folder: stage.folder,
                variables: stage.variables.merging(["ACCOUNTCTL_DATABASE_STATEMENT_TIMEOUT": "5s"]) { $1 }
            )
            try await whileLocked(stage.database) { _ in
                let told = try await hurried.run(["deletion", "list"])
                #expect(told.status == 75, "\(told)")
                #expect(told.errors.contains("another session holds a lock that this needs; try again"), "\(told)")
            }
            #expect(try await hurried.run(["deletion", "list"]).status == 0)
        }
    }

    @Test("A statement that somebody cancels is not said to have met a time limit")
    func cancelled() async throws {
        try await OperatorStage.with { stage in
            try await whileLocked(stage.database) { connection in
                let command = try AccountctlProcess(["deletion", "list"], environment: stage.variables)
                try await connection.waitUntilSomebodyIsBlocked()
                try connection.execute(
                    """
                    select pg_cancel_backend(pid)
                    from pg_stat_activity
                    where pg_backend_pid() = any(pg_blocking_pids(pid))
                    """
                )
                let told = try await command.result()
                #expect(told.status == 75, "\(told)")
                #expect(told.errors.contains("user request"), "\(told)")
                #expect(!told.errors.contains("statement_timeout"), "\(told)")
            }
        }
    }

    @Test("Behind a transaction pooler, a statement that the server's own timeout ends names the setting to change")
    func toldBehindAPooler() async throws {
        try await OperatorStage.with { stage in
            let database = stage.database
            try await database.psql("alter database \(database.name) set statement_timeout = '2s'")
            try await PgBouncer.with(.transaction, to: database.cluster) { bouncer in
                let variables = stage.variables.merging([
                    "PGHOST": "127.0.0.1", "PGPORT": "\(bouncer.port)", "ACCOUNTCTL_DATABASE_POOLER": "transaction",
                ]) { $1 }
                try await whileLocked(database) { _ in
                    let told = try await AccountctlProcess.run("deletion", "list", environment: variables)
                    #expect(told.status == 75, "\(told)")
                    #expect(told.errors.contains("statement timeout"), "\(told)")
                    #expect(told.errors.contains("database.statement_timeout"), "\(told)")
                }
            }
        }
    }

    @Test("A watch rests as long after a look that met the time limit as after any other that took so long")
    func watched() async throws {
        try await OperatorStage.with { stage in
            let variables = stage.variables.merging(["ACCOUNTCTL_DATABASE_STATEMENT_TIMEOUT": "5s"]) { $1 }
            try await stage.database.withConnection(asAdministrator: true) { connection in
                try connection.execute("begin")
                try connection.execute("lock table accountctl.jobs in access exclusive mode")
                let watch = try AccountctlProcess(["jobs", "watch"], environment: variables)
                defer { watch.signal(SIGKILL) }
                let first = try await Self.look(for: connection)
                #expect(try await watch.waitForErrors(containing: "cannot be reached"))
                let second = try await Self.look(for: connection)
                // The first look ended within five seconds. The server tells when each began to wait, so that it does
                // not matter when this test sees them.
                #expect(second.timeIntervalSince(first) > 7.5)
                try connection.execute("rollback")
                #expect(try await watch.waitForErrors(containing: "can be reached again"))
            }
        }
    }

    /// Waits until a look waits for the connection's lock, and returns since when.
    private static func look(for connection: isolated Connection) async throws -> Date {
        let waiting: Statement = """
            select max(waitstart)
            from pg_locks
            where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))
            """
        var began: Date?
        try await eventually("a look waits for the table", within: .seconds(60), every: .milliseconds(10)) {
            began = try connection.one(waiting, as: Date?.self)
            return began != nil
        }
        return try #require(began)
    }

    /// Runs `body` while its connection has the table of requests locked.
    private func whileLocked(
        _ database: TestDatabase,
        _ body: @Sendable (isolated Connection) async throws -> Void
    ) async throws {
        try await database.withConnection(asAdministrator: true) { connection in
            try connection.execute("begin")
            try connection.execute("lock table accountctl.deletion_requests in access exclusive mode")
            try await body(connection)
            try connection.execute("rollback")
        }
    }
}
