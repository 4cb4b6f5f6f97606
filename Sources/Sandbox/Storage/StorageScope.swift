import Postgres

/// Thrown to roll back a transaction whose answer is faked.
struct Pretended: Error {
    let reply: Reply
}

/// Storage's access to the database: one transaction, with the role and the claims of the caller.
struct StorageScope: Sendable {
    let pool: Pool

    /// Runs a body as the caller; rolls back if it throws.
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
                    -- As in the real server: the trigger that blocks direct deletes lets the API pass.
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
