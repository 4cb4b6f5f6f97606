import Postgres

/// The SQLSTATE with which the database refuses `body`; nil if the database accepts it.
func sqlState(_ body: () async throws -> some Any) async -> String? {
    do {
        _ = try await body()
        return nil
    } catch let error as PostgresError {
        return error.sqlState?.rawValue
    } catch {
        return "\(error)"
    }
}
