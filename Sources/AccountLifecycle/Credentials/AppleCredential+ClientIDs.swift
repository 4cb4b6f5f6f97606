import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AppleCredential {
    /// The client ids for which an account's credentials are held, in order.
    static func clientIDs(of user: UUID, on connection: isolated Connection) throws -> [String] {
        try connection.query(
            "select client_id from accountctl.apple_credentials where user_id = \(user) order by client_id",
            as: String.self
        )
    }
}
