import Postgres

extension Connection {
    /// Runs a body in a transaction of its own, or as a part of the one that is open: whoever rehearses an act opens
    /// one, to undo it.
    ///
    /// - Throws: What `body` throws; `PostgresError`.
    func atomically<Result>(_ body: (isolated Connection) async throws -> Result) async throws -> Result {
        try await isInTransaction ? savepoint(body) : transaction(body)
    }
}
