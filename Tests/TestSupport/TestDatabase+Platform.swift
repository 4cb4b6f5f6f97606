extension TestDatabase {
    /// Gives `body` a platform database whose storage lets `postgres` create policies, as the hosted platform does.
    package static func withPlatform(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.cluster.psql(
                database: database.name,
                files: [Repository.path("sql/platform/allow-storage-policies.sql")]
            )
            try await body(database)
        }
    }
}
