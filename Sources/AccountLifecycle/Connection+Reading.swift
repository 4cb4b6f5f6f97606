import Postgres

extension Connection {
    /// Runs a body that reads tables of other owners, in a transaction that leaves nothing behind.
    ///
    /// Who owns a table can have code run as whoever reads it: the planner evaluates what an index's condition calls.
    /// Read-only, so that it writes nothing and passes on no right; rolled back, since settings of the session are none
    /// of what read-only forbids, and the next statement would have its names looked up by them.
    ///
    /// - Throws: What `body` throws; ``PostgresError``.
    func reading<Result: Sendable>(
        isolation level: IsolationLevel = .readCommitted,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        do {
            return try await transaction(isolation: level, readOnly: true) { connection -> Result in
                let result = try await body(connection)
                throw Read(result: result)
            }
        } catch let read as Read<Result> {
            return read.result
        }
    }

    /// Has the rest of a transaction look names without a schema up in `pg_catalog` alone: a function or an operator in
    /// `public` whose arguments fit better would come before the server's own.
    func lookUpInCatalogAlone() throws {
        try execute("set local search_path to pg_catalog, pg_temp")
    }
}

extension Pool {
    /// Leases a connection and runs a body that reads tables of other owners; see ``Connection/reading(isolation:_:)``.
    func reading<Result: Sendable>(
        isolation level: IsolationLevel = .readCommitted,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await withConnection { connection in
            try await connection.reading(isolation: level, body)
        }
    }
}

/// Ends a transaction that has read what was wanted.
private struct Read<Result: Sendable>: Error {
    let result: Result
}
