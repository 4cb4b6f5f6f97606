import Postgres

extension Connection {
    /// Runs a body in a transaction of its own, or in a savepoint of the open one.
    ///
    /// The latter serves rehearsals, which open a transaction in order to roll it back.
    ///
    /// - Throws: What `body` throws; `PostgresError`.
    func atomically<Result>(_ body: (isolated Connection) async throws -> Result) async throws -> Result {
        try await isInTransaction ? savepoint(body) : transaction(body)
    }
}
