import Postgres

extension Connection {
    /// Runs `body` in a transaction, which is rolled back for a rehearsal; the result then tells what would have been
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

/// Carries the result of a rehearsal out of the transaction that it rolls back.
private struct Undone<Result: Sendable>: Error {
    let result: Result
}
