package import Postgres

extension PostgresError {
    /// The error that a body throws; anything else fails the test.
    package static func expected<Result>(_ body: () async throws -> Result) async throws -> PostgresError {
        do {
            _ = try await body()
        } catch let error as PostgresError {
            return error
        }
        throw TestSupportError("a Postgres error was expected, and none came")
    }
}
