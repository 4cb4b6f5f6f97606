import Postgres

/// Statements that make and drop the databases of tests.
extension TestCluster {
    /// Runs a statement as the superuser in the maintenance database.
    ///
    /// In the shared cluster it runs over a kept connection: a psql with a session for each statement would take half
    /// of the time that a database costs, of which a run makes two thousand.
    func administer(_ sql: String) async throws {
        guard try TestCluster.shared().folder == folder else {
            try await psql(sql)
            return
        }
        try await Self.administrators.value.withConnection { connection in
            try connection.script(unsafeSQL: sql)
        }
    }

    /// The connections to the shared cluster, which are kept until the process ends.
    private static let administrators = Task<Pool, any Error> {
        let configuration = try Self.poolConfiguration()
        return await withCheckedContinuation { continuation in
            _ = Task {
                try await Pool.withPool(configuration, logger: .silent) { pool in
                    continuation.resume(returning: pool)
                    // A pool ends with its closure.
                    try await Task.sleep(for: .seconds(86_400))
                }
            }
        }
    }

    private static func poolConfiguration() throws -> PoolConfiguration {
        let conninfo = try shared().conninfo(database: "postgres", user: "supabase_admin")
        var configuration = PoolConfiguration(connection: ConnectionConfiguration(conninfo: conninfo))
        configuration.connection.applicationName = "tests"
        configuration.connection.pooler = .none
        configuration.connection.connectTimeout = .seconds(60)
        // Databases are copied for as long as it takes on a busy machine, and where all tests begin at once.
        configuration.connection.statementDeadline = nil
        configuration.acquireDeadline = .seconds(300)
        configuration.maximumConnections = 4
        // As with psql, a test without a server fails at once.
        configuration.retriesConnecting = .never
        return configuration
    }
}
