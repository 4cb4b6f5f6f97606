package import Postgres

extension CodeExchange {
    /// What became of the newest codes that the app submitted for one client id.
    package struct Newest: Sendable, Hashable {
        package let clientID: String
        package let refused: Int
        package let exchanged: Int
    }

    /// The newest ten thousand codes, by client id.
    ///
    /// - Throws: ``PostgresError``.
    package static func newest(on connection: isolated Connection) throws -> [Newest] {
        try connection.query(
            """
            with newest as (
                select client_id, state
                from accountctl.authorization_codes
                where client_id is not null
                order by id desc
                limit 10000
            )
            select client_id,
                count(*) filter (where state = \(AuthorizationCodeState.refused.rawValue)),
                count(*) filter (where state = \(AuthorizationCodeState.exchanged.rawValue))
            from newest
            group by client_id
            order by client_id
            """,
            as: (String, Int, Int).self
        )
        .map(Newest.init)
    }
}
