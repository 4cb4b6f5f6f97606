import Logging
import Postgres

/// Checks that a session is one that migrations can run in.
struct MigrationSession: Sendable {
    static let poolerHint =
        "Use the direct connection or the pooler's session mode: on Supabase that is port 5432, not 6543."

    let configuration: ConnectionConfiguration
    let logger: Logger

    /// - Throws: ``MigrationError`` `readOnly` on a standby or a server in read-only mode, `transactionPooler` behind a pooler that gives
    ///   each transaction another session.
    func check(_ connection: isolated Connection) async throws {
        let (pid, isStandby, isReadOnly) = try connection.one(
            """
            select pg_backend_pid(), pg_is_in_recovery(),
                   current_setting('transaction_read_only') = 'on'
            """,
            as: (Int, Bool, Bool).self
        )
        if isStandby {
            throw MigrationError(
                .readOnly,
                "this server is a standby: it takes no changes",
                hint: "Name the primary, or several hosts with target_session_attrs=read-write."
            )
        }
        if isReadOnly {
            throw MigrationError(
                .readOnly,
                "this server is in read-only mode",
                hint: "On Supabase a full disk does that; see default_transaction_read_only."
            )
        }
        try await checkPooler(connection, pid: pid)
    }

    private func checkPooler(_ connection: isolated Connection, pid: Int) async throws {
        let refusal = MigrationError(
            .transactionPooler,
            "the connection goes through a pooler in transaction mode, where locks and settings of a session are lost",
            hint: Self.poolerHint
        )
        switch configuration.pooler {
        case .none: return
        case .transaction: throw refusal
        case .detect: break
        }
        // A pooler makes the process id up that a client is told at the start.
        guard pid != Int(connection.backendPID) else { return }
        // Session mode or transaction mode? While another client is inside a transaction, in transaction mode it has the server
        // process that we were just served by, and we are given another one.
        let served = try connection.servedBy()
        let session: Connection = connection
        let again = try await Connection.with(configuration, logger: logger) { other in
            try await Self.serverProcess(of: session, whileBusy: other)
        }
        if served != again || served != pid { throw refusal }
    }

    private static func serverProcess(of session: Connection, whileBusy other: isolated Connection) async throws -> Int
    {
        try other.execute("begin")
        try other.execute("select 1")
        let pid = try await session.servedBy()
        try other.execute("rollback")
        return pid
    }
}

extension Connection {
    /// The server process that ran this very statement.
    fileprivate func servedBy() throws -> Int {
        try one("select pg_backend_pid()", as: Int.self)
    }
}
