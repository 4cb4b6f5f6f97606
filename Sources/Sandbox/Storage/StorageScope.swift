import Postgres

/// Thrown to end a transaction whose answer is only pretended.
struct Pretended: Error {
    let reply: Reply
}

/// The database as Storage uses it: one transaction, in the role and with the claims of the caller.
struct StorageScope: Sendable {
    let pool: Pool

    /// Runs a body as the caller; rolled back when it throws.
    func run<Result: Sendable>(
        as caller: StorageCaller,
        operation: String,
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await pool.withTransaction { connection in
            _ = try connection.execute(
                """
                select
                    set_config('role', \(caller.role), true),
                    set_config('request.jwt.claims', \(caller.claims), true),
                    set_config('request.jwt.claim.role', \(caller.role), true),
                    set_config('request.jwt.claim.sub', \(caller.subject ?? ""), true),
                    set_config('storage.operation', \(operation), true),
                    -- As the real server does: the trigger against deletes by hand lets the API pass.
                    set_config('storage.allow_delete_query', 'true', true)
                """
            )
            return try body(connection)
        }
    }

    /// Runs a body as the server itself, past row-level security.
    func runAsServer<Result: Sendable>(
        _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await pool.withTransaction { connection in
            _ = try connection.execute("select set_config('role', 'service_role', true)")
            return try body(connection)
        }
    }
}
