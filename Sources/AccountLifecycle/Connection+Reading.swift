import Postgres

extension Connection {
    /// Runs a body that reads tables of other owners, in a transaction that leaves nothing behind.
    ///
    /// The owner of a table can have code run as whoever reads it: the planner evaluates the functions that an index's
    /// condition calls. The transaction is read-only, so such code can neither write nor grant anything. It is rolled
    /// back because a read-only transaction may still change session settings, and the next statement would resolve its
    /// names by them.
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

    /// Resolves unqualified names in `pg_catalog` alone for the rest of the transaction.
    ///
    /// Otherwise a function or an operator in `public` whose argument types fit better would take precedence over the
    /// server's own.
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

/// Ends a transaction that has read its result, so that it is rolled back.
private struct Read<Result: Sendable>: Error {
    let result: Result
}
