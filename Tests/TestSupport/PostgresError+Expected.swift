package import Postgres

extension PostgresError {
    /// Returns the Postgres error that `body` throws; any other outcome fails the test.
    package static func expected<Result>(_ body: () async throws -> Result) async throws -> PostgresError {
        do {
            _ = try await body()
        } catch let error as PostgresError {
            return error
        }
        throw TestSupportError("a Postgres error was expected, and none came")
    }
}
