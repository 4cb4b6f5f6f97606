package import Postgres

extension CredentialBooks {
    /// How many credentials are held for one client id.
    package struct HeldByClient: Sendable, Hashable {
        package let clientID: String
        package let credentials: Int
    }

    /// The number of credentials held per client id, sorted by client id.
    ///
    /// - Throws: ``PostgresError``.
    package static func heldByClient(on connection: isolated Connection) throws -> [HeldByClient] {
        try connection.query(
            """
            select client_id, count(*)
            from accountctl.apple_credentials
            group by client_id
            order by client_id
            """,
            as: (String, Int).self
        ).map(HeldByClient.init)
    }
}
