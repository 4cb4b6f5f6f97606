package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A client id that Apple rejects with a key, as workers share it on the ``RejectionBoard``.
package struct RejectedClient: Sendable, Hashable {
    package let clientID: String
    package let teamID: String
    package let keyID: String
    /// Apple's answer.
    package let refusal: String
    package let since: Date

    /// The current rejections, sorted by client id.
    ///
    /// - Throws: ``PostgresError``.
    package static func all(on connection: isolated Connection) throws -> [RejectedClient] {
        try connection.query(
            """
            select client_id, team_id, key_id, refusal, since
            from accountctl.apple_rejections
            order by client_id
            """,
            into: RejectedClient.init
        )
    }
}
