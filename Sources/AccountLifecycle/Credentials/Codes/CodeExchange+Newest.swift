package import Postgres

extension CodeExchange {
    /// The outcomes of the newest codes that the app submitted for one client id.
    package struct Newest: Sendable, Hashable {
        package let clientID: String
        /// How many accounts submitted them.
        package let accounts: Int
        package let refused: Int
        package let exchanged: Int
        /// Whether a credential of this client id is held.
        package let isHeld: Bool
    }

    /// The newest ten thousand codes per client id, with those first that most accounts submitted.
    ///
    /// It also returns how many accounts submitted codes without a client id, and how many accounts there were in all.
    /// A client id is whatever the client sent; a code without one counts for the `only` client id that is configured.
    ///
    /// - Throws: ``PostgresError``.
    package static func newest(
        only: String?,
        on connection: isolated Connection
    ) throws -> (codes: [Newest], nameless: Int, accounts: Int) {
        let rows = try connection.query(
            """
            with newest as materialized (
                select coalesce(client_id, \(only)) as client_id, state, user_id
                from accountctl.authorization_codes
                order by id desc
                limit 10000
            )
            select client_id,
                count(distinct user_id),
                count(*) filter (where state = \(AuthorizationCodeState.refused.rawValue)),
                count(*) filter (where state = \(AuthorizationCodeState.exchanged.rawValue)),
                exists (
                    select
                    from accountctl.apple_credentials as held
                    where held.client_id = newest.client_id
                ),
                (select count(distinct user_id) from newest)
            from newest
            group by client_id
            order by count(distinct user_id) desc, client_id
            """,
            as: (String?, Int, Int, Int, Bool, Int).self
        )
        let codes = rows.compactMap { clientID, accounts, refused, exchanged, isHeld, _ in
            clientID.map {
                Newest(clientID: $0, accounts: accounts, refused: refused, exchanged: exchanged, isHeld: isHeld)
            }
        }
        return (codes, rows.first { $0.0 == nil }?.1 ?? 0, rows.first?.5 ?? 0)
    }
}
