import Postgres
import TestSupport

extension PgBouncer {
    /// Holds one of the pooler's server processes in a transaction until `body` calls the closure that it is given, or
    /// ends.
    func whileOccupied<Result: Sendable>(
        in database: TestDatabase,
        _ body: (_ leave: @Sendable () -> Void) async throws -> Result
    ) async throws -> Result {
        var configuration = ConnectionConfiguration(conninfo: conninfo(database: database.name))
        configuration.pooler = .transaction
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [configuration] in
                try await Connection.with(configuration, logger: .silent) { connection in
                    try await connection.transaction { _ in
                        arrival.finish()
                        for await _ in ends {}
                    }
                }
            }
            for await _ in arrivals {}
            let result = try await body { end.finish() }
            group.cancelAll()
            return result
        }
    }
}
