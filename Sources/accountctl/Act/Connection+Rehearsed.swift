import Postgres

extension Connection {
    /// Runs `body` in a transaction, which is undone when it is only rehearsed: what it returns is what it would have
    /// done.
    func transaction<Result: Sendable>(
        rehearsed isRehearsal: Bool,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        do {
            return try await transaction { connection in
                let result = try await body(connection)
                if isRehearsal { throw Undone(result: result) }
                return result
            }
        } catch let undone as Undone<Result> {
            return undone.result
        }
    }
}

/// Ends a rehearsal.
private struct Undone<Result: Sendable>: Error {
    let result: Result
}
