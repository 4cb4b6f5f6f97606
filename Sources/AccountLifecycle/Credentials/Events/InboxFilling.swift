package import Postgres

/// How full the inbox of Apple's notifications is.
package enum InboxFilling {
    /// How many notifications the inbox holds; the database turns more away, unless some name keys that are not Apple's.
    package static let most = 1000

    /// How many notifications wait there, unverified.
    ///
    /// - Throws: ``PostgresError``.
    package static func count(on connection: isolated Connection) throws -> Int {
        try connection.one("select count(*) from accountctl.apple_inbox", as: Int.self)
    }
}
