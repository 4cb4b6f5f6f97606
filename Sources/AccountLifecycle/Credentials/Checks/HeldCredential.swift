import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A held credential about which Apple is asked.
struct HeldCredential: Sendable {
    let id: Int64
    let user: UUID
    let clientID: String
    let sealed: String
    /// The team with whose key it was obtained, or last found valid; nil if that is not known.
    let teamID: String?

    /// The columns that ``init(_:)`` takes, for a `select` or a `returning`.
    static let columns: Statement = "id, user_id, client_id, sealed_token, team_id"

    /// Reads a row of ``columns``.
    init(_ row: (Int64, UUID, String, String, String?)) {
        (id, user, clientID, sealed, teamID) = row
    }

    /// Takes credentials for their daily check, and returns them.
    ///
    /// The next check falls due a day later and up to a tenth of it more, at random, so that checks that fell together
    /// drift apart over the days; Apple asks for at most one a day. `ids` is a query of ids that locks the rows.
    ///
    /// - Throws: ``PostgresError``.
    static func take(choosing ids: Statement, on connection: isolated Connection) throws -> [HeldCredential] {
        try connection.query(
            """
            with chosen as materialized (
                \(ids)
            )
            update accountctl.apple_credentials
            set check_after = now() + (1 + random() / 10) * interval '24 hours'
            where id = any(array(select id from chosen))
            returning \(columns)
            """,
            as: (Int64, UUID, String, String, String?).self
        ).map(HeldCredential.init)
    }
}
